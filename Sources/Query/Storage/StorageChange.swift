/// The change that a storage must make for one query.
public enum StorageChange: Sendable {
  /// Write this in place of the stored entry.
  case write(StorageWrite)
  /// Remove the stored entry.
  case remove
}

/// An entry to be written: a snapshot of a state, which is coded when it is first read, off the
/// thread that made the change.
public final class StorageWrite: Sendable {
  private enum Phase: Sendable {
    case snapshot(@Sendable () throws -> StoredEntry)
    case coded(Result<StoredEntry, any Error>)
  }

  private let phase: Locked<Phase>

  /// Creates a write.
  ///
  /// - Parameter encode: Codes the snapshot. Called once, or twice if two threads read at a time.
  public init(encode: @escaping @Sendable () throws -> StoredEntry) {
    self.phase = Locked(.snapshot(encode))
  }

  /// The coded entry. The snapshot is released when it is made.
  ///
  /// - Throws: What the coder throws, at each call.
  public func entry() throws -> StoredEntry {
    switch self.phase.withLock({ $0 }) {
    case .coded(let result): return try result.get()
    case .snapshot(let encode):
      // Outside the lock: it is user code.
      let result = Result { try encode() }
      let old = self.phase.withLock { phase in
        defer { phase = .coded(result) }
        return phase
      }
      withExtendedLifetime(old) {}
      return try result.get()
    }
  }

  /// The same write, of a value that was invalidated meanwhile.
  func invalidated() -> StorageWrite {
    StorageWrite {
      var entry = try self.entry()
      entry.history.isInvalidated = true
      return entry
    }
  }
}
