import Foundation
import Query

// MARK: - Waiting for it

extension CacheDatabase {
  /// Returns when all that was handed over before is committed.
  func flush() async throws { try await self.perform { try $0.commitAll() } }

  /// Removes what a partition has.
  func erase(_ partition: CachePartition) async throws {
    // From here on no change of a store that lives now is written.
    partition.isErasing = true
    let slots = partition.slots.closeAll()
    defer {
      partition.slots.resetStores(of: slots)
      partition.isErasing = false
    }
    partition.forgetPrefetched()
    try await self.perform { try $0.erase(partition) }
  }

  /// Reads what is under a path into memory.
  func prefetch(_ prefix: IdentityPrefix, in partition: CachePartition) async throws {
    // What was handed over before is to be found.
    try await self.flush()
    guard let id = partition.row?.id else { throw self.degradation ?? Self.closed }
    partition.beginPrefetching()
    defer { partition.endPrefetching() }
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

  /// How long the end of a job is waited for without suspending: most commits take less.
  private static let patience = Duration.microseconds(60)

  private func perform(_ body: @escaping @Sendable (CacheWriter) throws -> Void) async throws {
    let outcome = JobOutcome<Void>()
    let isTaken = self.run { writer in outcome.set(Result { try body(writer) }) }
    guard isTaken else { throw Self.closed }
    try await outcome.value(patience: Self.patience)
  }

  /// Reads for as long as others may keep the file locked. A connection is opened without much
  /// patience, since that may happen where a store is created.
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
        let isBusy = StorageError(any: error, operation: "read").code == .busy
        guard isBusy, SuspendingClock.now < end else { throw error }
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }
}
