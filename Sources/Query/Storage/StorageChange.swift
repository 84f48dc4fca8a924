import FoundationEssentials

/// The change that a storage must make for one query.
public enum StorageChange: Sendable {
  /// Write this in place of the stored entry.
  case write(StorageWrite)
  /// Remove the stored entry.
  case remove
}

/// An entry to be written: a snapshot of a state, which is coded when it is first read, off the
/// thread that made the change.
// @unchecked: the variables are guarded by the lock of all writes.
public class StorageWrite: @unchecked Sendable {
  /// Guards what writes and marks change: one lock for all of them, since each change of a store makes one of
  /// both on its caller's thread. It is held for the copy of a value; nothing is called under it.
  static let lock = Locked(false)

  let facts: WriteFacts
  @exclusivity(unchecked) private var closure: SnapshotClosure?
  @exclusivity(unchecked) private var coded: CodedEntry?

  private final class CodedEntry: Sendable {
    let result: Result<StoredEntry, any Error>

    init(_ result: Result<StoredEntry, any Error>) { self.result = result }
  }

  /// Creates a write.
  ///
  /// - Parameter encode: Codes the snapshot. Called once, or twice if two threads read at a time.
  public init(encode: @escaping @Sendable () throws -> StoredEntry) {
    self.facts = WriteFacts(cause: .changed)
    self.closure = SnapshotClosure(encode: encode)
  }

  init(_ facts: WriteFacts) { self.facts = facts }

  static func of(_ snapshot: consuming some StateSnapshot, _ facts: WriteFacts) -> StorageWrite {
    SnapshotWrite(of: snapshot, facts)
  }

  /// What is to be coded, until it is.
  final var snapshot: (any StateSnapshot)? {
    Self.lock.withLock { _ in self.coded == nil ? self.kept : nil }
  }

  /// What is to be coded. The caller holds the lock, and nothing is coded yet.
  var kept: (any StateSnapshot)? { self.closure }

  /// Lets go of the value of what is coded. The caller holds the lock and ``kept``, which it releases later.
  func releaseKept() { self.closure = nil }

  /// The coded entry. The snapshot is released when it is made.
  ///
  /// - Throws: What the coder throws, at each call.
  public func entry() throws -> StoredEntry {
    if let coded = Self.lock.withLock({ _ in self.coded }) { return try coded.result.get() }
    // Another thread may just have coded it.
    guard let snapshot = self.snapshot else { return try self.entry() }
    // Outside the lock: it is user code.
    let coded = CodedEntry(Result { try snapshot.entry(self.facts) })
    Self.lock.withLock { _ in
      // Another thread may just have coded it.
      guard self.coded == nil else { return }
      self.coded = coded
      self.releaseKept()
    }
    // The value is the user's, and its last reference is not released under the lock.
    withExtendedLifetime(snapshot) {}
    return try coded.result.get()
  }

  /// How many bytes the value has, coded; nil: it is not coded yet, or could not be.
  var codedBytes: Int? {
    guard let coded = Self.lock.withLock({ _ in self.coded }) else { return nil }
    return try? coded.result.get().contentSize
  }

  /// What suffices to be written if the value was there before, and its bytes are known to be stored, or if
  /// nothing is said of the value; nil if ``entry()`` is needed. A storage that does not ask writes all of it.
  public var confirmation: StoredConfirmation? {
    let cause = self.facts.cause
    guard cause == .confirmed || cause == .unchanged else { return nil }
    let snapshot = self.snapshotOrEntry
    let content = self.facts.content
    let mark = content?.mark
    if cause == .confirmed && (mark == nil || content?.isOnlyCompared == true) { return nil }
    return StoredConfirmation(
      entry: snapshot.entryWithoutContent(self.facts), content: snapshot.hasValue ? mark : nil,
      hasValue: snapshot.hasValue, keepsOtherValue: cause == .unchanged)
  }

  /// In the place of what alone ``entry()`` is to be written; nil: of anything. Of an entry that is not
  /// written the invalidation is kept beside what is stored. A storage that does not ask writes it.
  public var basis: StoredBasis? {
    switch self.facts.cause {
    case .folded: StoredBasis(content: self.facts.folded?.mark)
    case .handedOverAgain: StoredBasis(content: nil)
    case .changed, .confirmed, .unchanged: nil
    }
  }

  /// Whether it is an error or an invalidation, which belongs beside what is stored.
  var isNote: Bool { self.facts.cause == .unchanged }

  /// What becomes of an older change that waits where this one is to wait: this one takes its place, but
  /// an error, an invalidation and an edit replace no value that another store of the query has made.
  func replacing(_ old: StorageChange) -> StorageChange {
    let cause = self.facts.cause
    switch (cause, old) {
    case (.changed, .write(let write)), (.confirmed, .write(let write)):
      return .write(self.remaining(of: write))
    case (.changed, .remove), (.confirmed, .remove): return .write(self)
    case (.handedOverAgain, .remove): return old
    case (.handedOverAgain, .write(let write)):
      return write.isMeantForStoredValue || write.isOlder(than: self) ? .write(self) : old
    case (.unchanged, .remove), (.folded, .remove):
      // What the store itself has removed; or another store of the query has.
      return self.snapshotOrEntry.hasValue ? old : .write(self.with(self.facts.with(.changed)))
    case (.unchanged, .write(let write)), (.folded, .write(let write)):
      let own = cause == .folded ? self.facts.folded : self.facts.content
      if write.facts.content === own { return .write(self.following(write)) }
      if cause == .folded, write.facts.cause == .unchanged { return .write(self) }
      return .write(write.noting(self.facts.lastInvalidation))
    }
  }

  /// Whether it says something of the value that is stored alone, and is nothing without that.
  private var isMeantForStoredValue: Bool {
    self.facts.cause == .unchanged || self.facts.cause == .folded
  }

  /// Whether it, too, was handed over again, by a store with an older value.
  private func isOlder(than other: StorageWrite) -> Bool {
    guard self.facts.cause == .handedOverAgain, let date = self.valueLastUpdatedAt else {
      return false
    }
    return other.valueLastUpdatedAt.map { date < $0 } ?? false
  }

  private var valueLastUpdatedAt: Date? {
    self.snapshotOrEntry.entryWithoutContent(self.facts).history.valueLastUpdatedAt
  }

  /// What is to be written of this and one that waits: this one, invalidated if the other is of another store and
  /// was invalidated later than this one knows, or the other if its value was asked for after that.
  private func remaining(of old: StorageWrite) -> StorageWrite {
    let own = self.facts.lastInvalidation
    let merged = self.facts.knownInvalidations.merged(with: old.facts.lastInvalidation)
    if merged.isOlder { return old.noting(own) }
    return merged.invalidation == own ? self : self.with(self.facts.with(merged.invalidation))
  }

  /// The same write, after another of the same store that has not been written.
  private func following(_ old: StorageWrite) -> StorageWrite {
    switch (self.facts.cause, old.facts.cause) {
    case (.folded, .unchanged): self
    case (_, .folded): self.with(self.facts.with(.folded, of: old.facts.folded))
    case (_, .handedOverAgain): self.with(self.facts.with(.handedOverAgain))
    case (.folded, _): self.with(self.facts.with(.changed))
    default: self.with(self.facts.with(old.facts.cause))
    }
  }

  /// Records by what the storage knows the value again that it has written, so that it need not be coded
  /// when it is confirmed.
  public func didStore(_ mark: StoredContentMark) { self.facts.content?.mark = mark }

  /// Records that it was removed before a storage had it. That counts as stored and removed: its store brings it
  /// back by no failure and no invalidation.
  func didRemove() {
    guard let content = self.facts.content, content.mark == nil else { return }
    content.mark = .ofRemoved
  }

  /// When the value was invalidated; nil: it is not.
  package var invalidatedAt: ContinuousClock.Instant? {
    let last = self.facts.lastInvalidation
    return last.isStanding ? last.instant : nil
  }

  /// The same write, of a value that was invalidated meanwhile.
  func invalidated() -> StorageWrite { self.noting(LastInvalidation(at: .now)) }

  /// The same write, beside which an invalidation was made.
  private func noting(_ invalidation: LastInvalidation) -> StorageWrite {
    let last = self.facts.lastInvalidation
    let new = invalidation.noted(beside: last)
    return new == last ? self : self.with(self.facts.with(new))
  }

  /// What is to be written besides if the value was invalidated while this write is under way.
  func followedByInvalidation() -> StorageWrite {
    self.with(self.facts.with(LastInvalidation(at: .now)).with(.unchanged))
  }

  /// The same entry, of which something else is said.
  private func with(_ facts: WriteFacts) -> StorageWrite { .of(self.snapshotOrEntry, facts) }

  /// What is to be coded, or gives the entry that it was coded to.
  private var snapshotOrEntry: any StateSnapshot {
    self.snapshot ?? SnapshotClosure(encode: self.entry)
  }
}

/// A write with its snapshot inside: each change of a store makes one on its caller's thread.
// @unchecked: the variable is guarded by the lock of all writes.
private final class SnapshotWrite<Snapshot: StateSnapshot>: StorageWrite, @unchecked Sendable {
  // Not optional: to look up that type took longer than to store the snapshot.
  @exclusivity(unchecked) private var own: Snapshot

  init(of snapshot: consuming Snapshot, _ facts: WriteFacts) {
    self.own = snapshot
    super.init(facts)
  }

  override var kept: (any StateSnapshot)? { self.own }
  override func releaseKept() { self.own.releaseValue() }
}

/// What a write says of its value, beside the entry.
struct WriteFacts: Sendable {
  /// The mark of the value; nil: it has none.
  var content: StoredContent?
  /// What has become of the value.
  var cause: StorageWrite.Cause
  /// The mark of the value that edits were made in, if that is the cause.
  var folded: StoredContent?
  /// When the value was last invalidated, as far as the state knows.
  var lastInvalidation = LastInvalidation.none
  /// Up to when the state knows of invalidations; nil: of all.
  var invalidationsKnownUntil: BootInstant?
  /// Whether a fetch has brought the value.
  var isFetched = false

  var knownInvalidations: KnownInvalidations {
    KnownInvalidations(
      last: self.lastInvalidation, until: self.invalidationsKnownUntil?.microseconds,
      isFetched: self.isFetched)
  }

  /// The same, of a value with another last invalidation.
  func with(_ lastInvalidation: LastInvalidation) -> Self {
    var facts = self
    facts.lastInvalidation = lastInvalidation
    return facts
  }

  /// The same, of another cause.
  func with(_ cause: StorageWrite.Cause, of folded: StoredContent? = nil) -> Self {
    var facts = self
    (facts.cause, facts.folded) = (cause, folded)
    return facts
  }
}

extension StorageWrite {
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
    /// Nothing, but the file that had it is gone. It is written where nothing is: what another process has
    /// written to the new file is as new.
    case handedOverAgain
  }
}

/// The part of a state that is written, before it is coded.
protocol StateSnapshot: Sendable {
  /// Codes it.
  func entry(_ facts: WriteFacts) throws -> StoredEntry
  /// Whether there is a value: one that was fetched or set, and not one that the store began with.
  var hasValue: Bool { get }
  /// What is to be written beside a value that was there before.
  func entryWithoutContent(_ facts: WriteFacts) -> StoredEntry
  /// Lets go of the value: it is coded, and nobody asks any more.
  mutating func releaseValue()
}

private struct SnapshotClosure: StateSnapshot {
  private(set) var encode: @Sendable () throws -> StoredEntry

  init(encode: @escaping @Sendable () throws -> StoredEntry) { self.encode = encode }

  mutating func releaseValue() { self.encode = { throw CancellationError() } }

  func entry(_ facts: WriteFacts) throws -> StoredEntry {
    var entry = try self.encode()
    entry.history.note(facts.lastInvalidation)
    return entry
  }

  // What cannot be coded was not written either.
  var hasValue: Bool { (try? self.encode().history.valueUpdateCount > 0) ?? true }

  func entryWithoutContent(_ facts: WriteFacts) -> StoredEntry {
    var entry =
      (try? self.entry(facts))
      // Not of an older release than what is stored, which may have to be invalidated.
      ?? StoredEntry(kind: "", coder: "", version: .max, content: .none, history: UpdateHistory())
    entry.content = .none
    return entry
  }
}
