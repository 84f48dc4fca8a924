import CSQLite
import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Persistence §8 and reliability: rows that SQLite takes for sound, but that no release has written.
/// No such row crashes the program, or keeps anything from being written.
// One after another: each storage watches its folder, and of watches a user has 128.
@Suite(.serialized) struct HostileRowsTests {
  private static let changes: [String] = [
    "UPDATE partitions SET revision = 9223372036854775807",
    "UPDATE partitions SET revision = -9223372036854775808",
    "UPDATE partitions SET entry_count = 9223372036854775807, byte_count = 9223372036854775807",
    "UPDATE partitions SET entry_count = -9223372036854775808, byte_count = -9223372036854775808",
    "UPDATE partitions SET epoch = 9223372036854775807",
    "UPDATE entries SET revision = 9223372036854775807",
    "UPDATE entries SET value_update_count = 9223372036854775807",
    "UPDATE entries SET error_update_count = 9223372036854775807",
    "UPDATE entries SET value_update_count = -9223372036854775808",
    "UPDATE entries SET byte_count = 9223372036854775807",
    "UPDATE entries SET byte_count = -9223372036854775808",
    "UPDATE entries SET value_updated_at = 9223372036854775807, expires_at = -9223372036854775808",
    "UPDATE entries SET value_version = 9223372036854775807",
    "UPDATE entries SET last_use = 9223372036854775807",
    "UPDATE entries SET hash = x'00'",
    "UPDATE entries SET checksum = x'00'",
    "UPDATE entries SET checksum = NULL",
    "UPDATE entries SET value = NULL",
    "UPDATE entries SET identity = ''",
    "UPDATE entries SET kind = 'other', coder = ''",
    "UPDATE entries SET partition = 1000",
    "INSERT INTO confirmations VALUES (1, 1, 9223372036854775807, 0, 2, NULL)",
    "INSERT INTO confirmations VALUES (1, 1, -9223372036854775808, 0, 2, NULL)",
    """
    INSERT INTO confirmations
    VALUES (1, 1, 1000, 9223372036854775807, -9223372036854775808, -9223372036854775808)
    """,
    "INSERT INTO confirmations VALUES (77, 1, 1000, 0, 2, NULL)",
    """
    WITH RECURSIVE n (i) AS (SELECT 77 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    INSERT INTO confirmations SELECT i, 1, i, 0, 2, NULL FROM n
    """,
    "DROP TABLE confirmations",
    "DROP INDEX entries_by_identity",
    "DROP TABLE entries",
    "DROP TABLE pages",
    "DROP TABLE partitions",
    "ALTER TABLE partitions RENAME TO others",
    "ALTER TABLE entries RENAME COLUMN kind TO sort",
    "CREATE TRIGGER t AFTER UPDATE ON entries BEGIN SELECT raise(ABORT, 'no'); END",
  ]

  /// Although the schema allows none: a flipped byte makes one. The other rows stay.
  @Test(arguments: ["coder", "kind", "value_version", "revision", "byte_count"])
  func aNullInARowCostsThatRowAlone(_ column: String) async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    first.set("a", "old")
    first.set("b", "old")
    #expect(await first.close() == nil)
    try Self.setNull(column, "\(folder.path)/cache.sqlite")
    let trial = try StorageTrial(in: folder.path)
    #expect(await trial.text("a") == nil)
    #expect(await trial.text("b") == "old")
    await trial.recover()
    #expect(await trial.flush() == nil)
    #expect(try FolderContents.setAside("corrupt", in: folder.path) == [])
    #expect(trial.storage.statistics.quarantined == 1)
    await trial.close()
  }

  /// Takes the constraint away, sets the column of one row, and puts the constraint back.
  private static func setNull(_ column: String, _ path: String) throws {
    let sound = try SQLiteConnection(path: path).rowsOfText(
      "SELECT sql FROM sqlite_schema WHERE name = 'entries'")[0]
    var loose = sound
    for type in ["TEXT", "INTEGER"] {
      loose = loose.replacing("\(column) \(type) NOT NULL", with: "\(column) \(type)")
    }
    func setSchema(_ sql: String, _ version: Int) -> [String] {
      [
        "PRAGMA writable_schema = 1",
        "UPDATE sqlite_schema SET sql = '\(sql.replacing("'", with: "''"))' WHERE name = 'entries'",
        "PRAGMA schema_version = \(version)",
      ]
    }
    for statements in [
      setSchema(loose, 1_000),
      ["UPDATE entries SET \(column) = NULL WHERE identity LIKE '%\"a\"%'"],
      setSchema(sound, 1_001),
    ] {
      // Not one of the library's: those let nobody do that.
      var handle: OpaquePointer?
      #expect(sqlite3_open(path, &handle) == SQLITE_OK)
      for sql in statements {
        #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(sql)")
      }
      #expect(sqlite3_close(handle) == SQLITE_OK)
    }
  }

  @Test(arguments: changes)
  func noRowKeepsAStorageFromWorking(_ change: String) async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    first.set("a", "old")
    #expect(await first.close() == nil)
    let connection = try SQLiteConnection(path: "\(folder.path)/cache.sqlite")
    try connection.pragma("PRAGMA foreign_keys = 0")
    _ = try connection.rowsOfText(change)
    try connection.close()
    let trial = try StorageTrial(in: folder.path)
    let found = await trial.text("a")
    #expect(found == nil || found == "old")
    #expect(try await trial.store("a").fetch() == "fetched")
    trial.set("b", "new")
    await trial.recover()
    #expect(await trial.flush() == nil)
    #expect(!trial.storage.statistics.isDegraded)
    await trial.close()
    let texts = try await StorageTrial.texts(["a", "b"], in: folder.path)
    // What a newer release seems to have written is not written over.
    let isKept = change.contains("value_version")
    #expect(texts == (isKept ? ["b": "new"] : ["a": "fetched", "b": "new"]))
  }
}
