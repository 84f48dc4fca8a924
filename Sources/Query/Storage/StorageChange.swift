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

  /// What has become of the value of a state that is written.
  enum Cause: Sendable {
    /// It is new, or nobody knows.
    case changed
    /// Its server says that it is right.
    case confirmed
    /// Nothing: a fetch failed, or the value was invalidated.
    case unchanged
  }

  /// Creates a write.
  ///
  /// - Parameter encode: Codes the snapshot. Called once, or twice if two threads read at a time.
  public convenience init(encode: @escaping @Sendable () throws -> StoredEntry) {
    self.init(of: SnapshotClosure(encode: encode, isInvalidated: false))
  }

  init(of snapshot: some StateSnapshot) {
    self.content = snapshot.content
    self.cause = snapshot.cause
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

  /// What suffices to be written if the value was there before, and its bytes are known to be stored;
  /// nil if ``entry()`` is needed. A storage that does not ask writes all of it.
  public var confirmation: StoredConfirmation? {
    guard self.cause != .changed, let snapshot = self.snapshot, let mark = self.content?.mark else {
      return nil
    }
    return StoredConfirmation(
      entry: snapshot.entryWithoutContent, content: mark, keepsOtherValue: self.cause == .unchanged)
  }

  /// What becomes of an older change that waits where this one is to wait: this one takes its place, but
  /// an error or an invalidation replaces no value that another store of the query has made.
  func replacing(_ old: StorageChange) -> StorageChange {
    guard self.cause == .unchanged else { return .write(self) }
    guard case .write(let write) = old else { return old }
    if write.content === self.content { return .write(self) }
    return self.snapshot?.isInvalidated == true ? .write(write.invalidated()) : old
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
  func invalidated() -> StorageWrite {
    if let snapshot = self.snapshot { return StorageWrite(of: snapshot.invalidated()) }
    return StorageWrite(of: SnapshotClosure(encode: self.entry, isInvalidated: true))
  }
}

/// The part of a state that is written, before it is coded.
protocol StateSnapshot: Sendable {
  /// Codes it.
  func entry() throws -> StoredEntry
  /// The same, of a value that was invalidated.
  func invalidated() -> Self
  /// The mark of the value; nil: it has none.
  var content: StoredContent? { get }
  /// What has become of the value.
  var cause: StorageWrite.Cause { get }
  /// Whether the value was invalidated.
  var isInvalidated: Bool { get }
  /// What is to be written beside a value that was there before.
  var entryWithoutContent: StoredEntry { get }
}

private struct SnapshotClosure: StateSnapshot {
  let encode: @Sendable () throws -> StoredEntry
  var isInvalidated: Bool

  func entry() throws -> StoredEntry {
    var entry = try self.encode()
    if self.isInvalidated { entry.history.isInvalidated = true }
    return entry
  }

  func invalidated() -> Self { Self(encode: self.encode, isInvalidated: true) }

  var content: StoredContent? { nil }

  var cause: StorageWrite.Cause { .changed }

  var entryWithoutContent: StoredEntry { preconditionFailure("A closure makes whole entries.") }
}
