import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Triggers and views that a stranger has put into a file: none of them runs, or keeps the program
/// waiting.
@Suite(.serialized) struct HostileSchemaTests {
  private static func edit(_ path: String, _ statements: [String]) throws {
    let connection = try SQLiteConnection(path: path)
    for sql in statements { _ = try connection.rowsOfText(sql) }
    try connection.close()
  }

  /// Which never ends.
  private static let endless = """
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT
    """

  @Test func aTriggerInTheOutboxDeletesNothing() async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.add("first")
    try await scratch.storage.close()
    try Self.edit(
      scratch.path,
      [
        "CREATE TRIGGER t AFTER INSERT ON outbox BEGIN DELETE FROM outbox; END",
        "CREATE TRIGGER u AFTER UPDATE ON partitions BEGIN DELETE FROM outbox; END",
      ])
    let next = try OutboxScratch(in: scratch.folder)
    let second = try await next.add("second")
    #expect(try next.outbox.entries(in: nil).map(\.id) == [first, second])
    try await next.storage.close()
  }

  @Test func aTriggerInTheCacheChangesNothing() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "text"]) }
    try Self.edit(
      "\(scratch.path)/cache.sqlite",
      ["CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END"])
    try await scratch.withStorage { storage in
      try await storage.set(["b": "text"])
      #expect(await storage.text("a") == "text")
      #expect(await storage.text("b") == "text")
    }
  }

  @Test func anEndlessViewInThePlaceOfATableOfTheCacheEndsNothing() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "text"]) }
    let columns = try scratch.rows("SELECT name FROM pragma_table_info('entries')")
    try Self.edit(
      "\(scratch.path)/cache.sqlite",
      [
        "DROP TABLE entries",
        "CREATE VIEW entries AS \(Self.endless) "
          + columns.map { "i AS \($0)" }.joined(separator: ", ") + " FROM n",
      ])
    try await scratch.withStorage { storage in
      try await storage.set(["b": "text"])
      #expect(await storage.text("b") == "text")
    }
  }

  @Test func anEndlessViewInThePlaceOfATableOfTheOutboxEndsNothing() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add("first")
    try await scratch.storage.close()
    let columns = try scratch.rows("SELECT name FROM pragma_table_info('outbox')")
    try Self.edit(
      scratch.path,
      [
        "DROP TABLE outbox",
        "CREATE VIEW outbox AS \(Self.endless) "
          + columns.map { "i AS \($0)" }.joined(separator: ", ") + " FROM n",
      ])
    let next = try OutboxScratch(in: scratch.folder)
    let second = try await next.add("second")
    #expect(try next.outbox.entries(in: nil).map(\.id) == [second])
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path)
    #expect(names.contains { $0.hasPrefix("mutations.sqlite.corrupt-") })
    try await next.storage.close()
  }
}
