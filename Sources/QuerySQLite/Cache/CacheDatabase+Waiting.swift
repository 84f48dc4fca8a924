import FoundationEssentials
import Query

// MARK: - Waiting

extension CacheDatabase {
  /// Returns when all earlier changes are committed.
  func flush() async throws {
    if !self.thread.ifIdle({ $0.tryCommit() }) {
      try await self.perform { try $0.commitAllForCaller() }
    }
    // What was flushed earlier may have been in a file that has been replaced.
    try await self.flushHandedOver()
  }

  /// Removes everything of a partition.
  func erase(_ partition: CachePartition) async throws {
    // From here on nothing is read, and no change of a store that is alive now is written. The stores that
    // are made meanwhile are not reset in the end: they read what is there then.
    partition.beginErasing()
    let slots = partition.slots.closeAll()
    defer {
      partition.slots.resetStores(of: slots)
      // A scan that has begun meanwhile may have found what is erased.
      partition.forgetPrefetched()
      partition.endErasing()
    }
    partition.forgetPrefetched()
    try await self.perform { try $0.erase(partition) }
  }

  /// Reads the entries under a path into memory.
  func prefetch(_ prefix: IdentityPrefix, in partition: CachePartition) async throws {
    // Before the flush: what changes meanwhile may be committed after the scan.
    partition.beginPrefetching()
    defer { partition.endPrefetching() }
    // Earlier changes must be found.
    try await self.flush()
    guard let id = partition.row?.id else { throw self.health.error ?? Self.closed }
    do {
      let entries = try await self.readPatiently { connection in
        var entries = [(QueryIdentity, StoredEntry)]()
        _ = try CacheTables(partition: id, on: connection).scan(
          prefix, upToBytes: CachePartition.maximumPrefetchedBytes
        ) { identity, entry in entries.append((identity, entry)) }
        return entries
      }
      partition.keep(prefetched: entries)
    } catch let failure as OpeningFailure {
      throw failure.error
    }
  }

  /// Lets the thread that writes do something, and returns what came of it.
  func perform<R: Sendable>(
    _ body: @escaping @Sendable (CacheWriter) throws -> R
  ) async throws -> R {
    try await self.thread.value(orThrow: Self.closed, of: body)
  }

  /// Reads, waiting as long as other connections may keep the file locked. A connection is opened
  /// with little patience, since that may happen while a store is created.
  func readPatiently<R: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> R
  ) async throws -> R {
    let patience = self.configuration.busyTimeout
    let end = SuspendingClock.now + patience
    while true {
      do {
        return try await self.readers.read { connection in
          connection.busyHandler.patience = .limited(patience)
          return try body(connection)
        }
      } catch {
        let code = StorageError(any: error, operation: "read").code
        if code == .misuse { await ExitFlush.untilEnd() }
        guard code == .busy, SuspendingClock.now < end else { throw error }
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }
}
