import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct WritingThreadCallersTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  private func storage() throws -> SQLiteQueryStorage {
    try SQLiteQueryStorage(directory: URL(filePath: self.folder.path))
  }

  private func setAside(_ kind: DatabaseKind) throws -> Int {
    try SetAside(kind: kind, folder: self.folder.path).names().count
  }

  private static let damage = StorageError(
    operation: "read", code: .wrongIndex, message: "an index lacks a row")

  /// The second reader has read the file that was replaced since.
  @Test func twoReadersThatFindOneFileDamagedHaveItReplacedOnce() async throws {
    let storage = try self.storage()
    _ = try await storage.outbox.enqueue(
      NewMutation(name: "save", instance: "i", coder: "json", arguments: Data()),
      claiming: false)
    try await storage.flush()
    for _ in 0..<2 {
      let file = storage.database.fileNumber.withLock { $0 }
      for _ in 0..<2 { storage.database.thread.check(file, after: Self.damage) }
      try await storage.database.perform { _ in }
    }
    #expect(try self.setAside(.cache) == 2)
    let outbox = storage.mutations.database
    let file = try #require(outbox.fileNumber.withLock { $0 })
    for _ in 0..<2 { outbox.thread.check(file, after: Self.damage) }
    try await outbox.thread.value(orThrow: OutboxDatabase.closed) { _ in }
    #expect(try self.setAside(.mutations) == 1)
    #expect(try storage.outbox.entries(in: nil).map(\.name) == ["save"])
    try await storage.close()
  }

  @Test func aThreadThatHasStoppedDoesNothingMore() async throws {
    let storage = try self.storage()
    #expect(try await storage.database.perform { $0.health.error == nil })
    try await storage.close()
    await #expect(throws: StorageError.self) {
      try await storage.database.thread.value(orThrow: CacheDatabase.closed) { _ in
        Issue.record("it was done")
      }
    }
  }
}
