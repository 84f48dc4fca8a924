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
  private let isConfirmation: Bool

  /// Creates a write.
  ///
  /// - Parameter encode: Codes the snapshot. Called once, or twice if two threads read at a time.
  public convenience init(encode: @escaping @Sendable () throws -> StoredEntry) {
    self.init(of: SnapshotClosure(encode: encode, isInvalidated: false))
  }

  init(of snapshot: some StateSnapshot) {
    self.content = snapshot.content
    self.isConfirmation = snapshot.isConfirmation
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

  /// What suffices to be written if the value was only confirmed, and its bytes are known to be stored;
  /// nil if ``entry()`` is needed. A storage that does not ask writes all of it.
  public var confirmation: StoredConfirmation? {
    guard self.isConfirmation, let snapshot = self.snapshot, let mark = self.content?.mark else {
      return nil
    }
    return snapshot.confirmation(of: mark)
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
  /// Whether the value is one that was there before.
  var isConfirmation: Bool { get }
  /// What is to be written beside the value.
  func confirmation(of mark: StoredContentMark) -> StoredConfirmation
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

  var isConfirmation: Bool { false }

  func confirmation(of mark: StoredContentMark) -> StoredConfirmation {
    preconditionFailure("A closure makes whole entries.")
  }
}
