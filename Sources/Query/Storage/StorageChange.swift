/// The change that a storage must make for one query.
public enum StorageChange: Sendable {
  /// Write this in place of the stored entry.
  case write(StorageWrite)
  /// Remove the stored entry.
  case remove
}

/// An entry to be written: a snapshot of a state, which is coded when it is first read, off the
/// thread that made the change.
// @unchecked: `phase` is guarded by the lock of all writes.
public final class StorageWrite: @unchecked Sendable {
  private enum Phase: Sendable {
    case snapshot(any StateSnapshot)
    // In a box: it is large, and a phase is copied under the lock.
    indirect case coded(Result<StoredEntry, any Error>)
  }

  /// Guards what writes and marks change: one lock for all of them, since each change of a store makes one of
  /// both on its caller's thread. It is held for the copy of a value; nothing is called under it.
  static let lock = Locked(false)

  @exclusivity(unchecked) private var phase: Phase
  private let content: StoredContent?
  /// What the write says of the value.
  private let cause: Cause
  /// The mark of the value that edits were made in.
  private let folded: StoredContent?
  /// When the value was invalidated, and up to when the state knows of invalidations.
  private let invalidatedAt: ContinuousClock.Instant?
  private let invalidationsKnownUntil: ContinuousClock.Instant?

  /// What has become of the value of a state that is written.
  enum Cause: Sendable {
    /// It is new, or nobody knows.
    case changed
    /// Its server says that it is right.
    case confirmed
    /// Nothing: a fetch failed, or the value was invalidated. Or there is no value at all.
    case unchanged
    /// Acknowledged edits were made in it. If it is not stored any more, another process has a newer one,
    /// over which it makes the edits itself.
    case folded
  }

  /// Creates a write.
  ///
  /// - Parameter encode: Codes the snapshot. Called once, or twice if two threads read at a time.
  public convenience init(encode: @escaping @Sendable () throws -> StoredEntry) {
    self.init(of: SnapshotClosure(encode: encode))
  }

  init(of snapshot: some StateSnapshot) {
    self.content = snapshot.content
    self.cause = snapshot.cause
    self.folded = snapshot.folded
    self.invalidatedAt = snapshot.invalidatedAt
    self.invalidationsKnownUntil = snapshot.invalidationsKnownUntil
    self.phase = .snapshot(snapshot)
  }

  /// The coded entry. The snapshot is released when it is made.
  ///
  /// - Throws: What the coder throws, at each call.
  public func entry() throws -> StoredEntry {
    switch Self.lock.withLock({ _ in self.phase }) {
    case .coded(let result): return try result.get()
    case .snapshot(let snapshot):
      // Outside the lock: it is user code.
      let result = Result { try snapshot.entry() }
      let old = Self.lock.withLock { _ in
        defer { self.phase = .coded(result) }
        return self.phase
      }
      withExtendedLifetime(old) {}
      return try result.get()
    }
  }

  /// What suffices to be written if the value was there before, and its bytes are known to be stored, or if
  /// nothing is said of the value; nil if ``entry()`` is needed. A storage that does not ask writes all of it.
  public var confirmation: StoredConfirmation? {
    guard self.cause == .confirmed || self.cause == .unchanged, let snapshot = self.snapshot
    else { return nil }
    let mark = self.content?.mark
    if self.cause == .confirmed && (mark == nil || self.content?.isOnlyCompared == true) {
      return nil
    }
    return StoredConfirmation(
      entry: snapshot.entryWithoutContent, content: snapshot.hasValue ? mark : nil,
      hasValue: snapshot.hasValue, keepsOtherValue: self.cause == .unchanged)
  }

  /// In the place of what alone ``entry()`` is to be written; nil: of anything. Of an entry that is not
  /// written the invalidation is kept beside what is stored. A storage that does not ask writes it.
  public var basis: StoredBasis? {
    self.cause == .folded ? StoredBasis(content: self.folded?.mark) : nil
  }

  /// Whether it is an error or an invalidation of a state that has no value.
  var isWithoutValue: Bool { self.cause == .unchanged && self.snapshot?.hasValue == false }

  /// What becomes of an older change that waits where this one is to wait: this one takes its place, but
  /// an error, an invalidation and an edit replace no value that another store of the query has made.
  func replacing(_ old: StorageChange) -> StorageChange {
    guard self.cause == .unchanged || self.cause == .folded, let snapshot = self.snapshot
    else { return .write(self.keepingInvalidation(of: old)) }
    switch old {
    case .remove:
      // What the store itself has removed; or another store of the query has.
      return snapshot.hasValue ? old : .write(StorageWrite(of: snapshot.with(.changed)))
    case .write(let write):
      let own = self.cause == .folded ? self.folded : self.content
      if write.content === own { return .write(self.following(write, snapshot)) }
      if self.cause == .folded, write.cause == .unchanged { return .write(self) }
      return snapshot.isInvalidated ? .write(write.invalidated(at: snapshot.invalidatedAt)) : old
    }
  }

  /// The same write, if the one that waits is of a value that was invalidated later than this one knows: it
  /// is another store's.
  private func keepingInvalidation(of old: StorageChange) -> StorageWrite {
    guard case .write(let write) = old, let instant = write.invalidatedAt,
      let known = self.invalidationsKnownUntil, instant > known
    else { return self }
    return self.invalidated(at: instant)
  }

  /// The same write, after another of the same store that has not been written.
  private func following(_ old: StorageWrite, _ snapshot: any StateSnapshot) -> StorageWrite {
    switch (self.cause, old.cause) {
    case (.folded, .unchanged): self
    case (_, .folded): StorageWrite(of: snapshot.with(.folded, of: old.folded))
    case (.folded, _): StorageWrite(of: snapshot.with(.changed))
    default: StorageWrite(of: snapshot.with(old.cause))
    }
  }

  /// Records by what the storage knows the value again that it has written, so that it need not be coded
  /// when it is confirmed.
  public func didStore(_ mark: StoredContentMark) { self.content?.mark = mark }

  /// What is to be coded, until it is.
  var snapshot: (any StateSnapshot)? {
    switch Self.lock.withLock({ _ in self.phase }) {
    case .snapshot(let snapshot): snapshot
    case .coded: nil
    }
  }

  /// The same write, of a value that was invalidated meanwhile.
  func invalidated(at instant: ContinuousClock.Instant? = .now) -> StorageWrite {
    let snapshot: any StateSnapshot =
      self.snapshot
      ?? SnapshotClosure(
        encode: self.entry, content: self.content, cause: self.cause, folded: self.folded)
    return StorageWrite(of: snapshot.invalidated(at: instant ?? .now))
  }

  /// What is to be written besides if the value was invalidated while this write is under way.
  func followedByInvalidation() -> StorageWrite {
    let write = self.invalidated()
    guard let snapshot = write.snapshot else { return write }
    return StorageWrite(of: snapshot.with(.unchanged))
  }
}

/// The part of a state that is written, before it is coded.
protocol StateSnapshot: Sendable {
  /// Codes it.
  func entry() throws -> StoredEntry
  /// The mark of the value; nil: it has none.
  var content: StoredContent? { get }
  /// What has become of the value.
  var cause: StorageWrite.Cause { get set }
  /// The mark of the value that edits were made in, if that is the cause.
  var folded: StoredContent? { get set }
  /// When the value was invalidated; nil: it was not.
  var invalidatedAt: ContinuousClock.Instant? { get set }
  /// Up to when the state knows of invalidations; nil: of all.
  var invalidationsKnownUntil: ContinuousClock.Instant? { get }
  /// Whether there is a value: one that was fetched or set, and not one that the store began with.
  var hasValue: Bool { get }
  /// What is to be written beside a value that was there before.
  var entryWithoutContent: StoredEntry { get }
}

extension StateSnapshot {
  /// Whether the value was invalidated.
  var isInvalidated: Bool { self.invalidatedAt != nil }

  /// The same, of a value that was invalidated.
  func invalidated(at instant: ContinuousClock.Instant) -> Self {
    var snapshot = self
    snapshot.invalidatedAt = instant
    return snapshot
  }

  /// The same, of another cause.
  func with(_ cause: StorageWrite.Cause, of folded: StoredContent? = nil) -> Self {
    var snapshot = self
    (snapshot.cause, snapshot.folded) = (cause, folded)
    return snapshot
  }
}

private struct SnapshotClosure: StateSnapshot {
  let encode: @Sendable () throws -> StoredEntry
  var content: StoredContent?
  var cause = StorageWrite.Cause.changed
  var folded: StoredContent?
  var invalidatedAt: ContinuousClock.Instant?
  var invalidationsKnownUntil: ContinuousClock.Instant? { nil }

  func entry() throws -> StoredEntry {
    var entry = try self.encode()
    if let invalidatedAt { entry.history.invalidate(at: invalidatedAt) }
    return entry
  }

  // What cannot be coded was not written either.
  var hasValue: Bool { (try? self.encode().history.valueUpdateCount > 0) ?? true }

  var entryWithoutContent: StoredEntry {
    var entry =
      (try? self.entry())
      ?? StoredEntry(kind: "", coder: "", version: 0, content: .none, history: UpdateHistory())
    entry.content = .none
    return entry
  }
}
