import Foundation
import Query

/// The packs of an account in `cache.sqlite`.
final class SQLitePacks: PackStorage {
  private let database: CacheDatabase
  private let partition: CachePartition
  private let isClosed: Locked<Bool>

  /// - Parameter isClosed: Whether the storage was closed.
  init(_ database: CacheDatabase, _ partition: CachePartition, isClosed: Locked<Bool>) {
    (self.database, self.partition, self.isClosed) = (database, partition, isClosed)
  }

  var limits: PackLimits { self.partition.packLimits }

  func keep(_ pack: NewPack) async throws -> StoredPack {
    try await self.change("keep a pack") { [limits] in try $0.keep(pack, limits: limits) }
  }

  func remove(_ name: String) async throws -> Bool {
    try await self.change("remove a pack") { try $0.remove(name) }
  }

  func remove(_ id: UUID, ifEndedBy date: Date?) async throws -> Bool {
    try await self.change("remove a pack") { try $0.remove(id, ifEndedBy: date) }
  }

  func renew(_ id: UUID) async throws -> StoredPack? {
    try await self.change("renew a pack") { try $0.renew(id) }
  }

  func claim(_ request: PackClaimRequest) async throws -> PackClaim? {
    try self.requireOpen("claim")
    return try await self.database.perform { [partition] in
      try $0.claim(request, in: partition)
    }
  }

  func settle(
    _ results: [PackResult], of id: UUID, at now: Date
  ) async throws -> PackStanding? {
    try self.requireOpen("settle")
    return try await self.database.perform { [partition] writer in
      let owner = try writer.packOwnerName()
      return try writer.changePacks(of: partition, "settle") {
        let standing = try $0.settle(
          results, of: id, for: owner, at: now, limits: partition.packLimits)
        return (standing, standing != nil)
      }
    }
  }

  func packs() async throws -> [StoredPack] {
    try self.requireOpen("read packs")
    if self.partition.row == nil {
      // The thread reaches this after it has opened the file.
      try await self.database.perform { _ in }
    }
    guard let id = self.partition.row?.id else {
      throw self.database.health.error ?? CacheDatabase.closed
    }
    do {
      return try await self.database.readPatiently { connection in
        // All of one state.
        try connection.read { try PackTables(partition: id, on: connection).packs() }
      }
    } catch let failure as OpeningFailure {
      throw failure.error
    }
  }

  func subscribe(_ onChange: @escaping @Sendable () -> Void) -> QuerySubscription {
    self.partition.packListeners.subscribe(onChange)
  }

  private func change<R: Sendable>(
    _ operation: String, _ body: @escaping @Sendable (PackTables) throws -> R
  ) async throws -> R {
    try self.requireOpen(operation)
    return try await self.database.perform { [partition] in
      try $0.changePacks(of: partition, operation) { (try body($0), true) }
    }
  }

  private func requireOpen(_ operation: String) throws(StorageError) {
    guard self.isClosed.withLock({ $0 }) else { return }
    throw StorageError(
      operation: operation, code: .misuse, message: "the storage is closed",
      fileName: DatabaseKind.cache.fileName)
  }
}
