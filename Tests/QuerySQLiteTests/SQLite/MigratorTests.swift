import CSQLite
import Foundation
import Migrations
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct MigratorTests {
  private let folder: TemporaryFolder
  private let first = Migration(
    name: "cache-0001-a",
    sql: Array(
      """
      PRAGMA application_id = 1364353889; PRAGMA user_version = 1;
      CREATE TABLE migrations (
        level INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum BLOB NOT NULL,
        applied_at INTEGER NOT NULL) STRICT;
      CREATE TABLE a (b INTEGER) STRICT; INSERT INTO a VALUES (1);
      """.utf8))
  private let second = Migration(
    name: "cache-0002-b",
    sql: Array("PRAGMA user_version = 2; INSERT INTO a VALUES (2); -- the end".utf8))

  init() throws { self.folder = try TemporaryFolder() }

  private func opener(_ migrations: [Migration]) -> DatabaseOpener {
    var opener = DatabaseOpener(.cache, in: self.folder)
    opener.migrations = migrations
    return opener
  }

  private func failure(_ migrations: [Migration]) -> OpeningFailure? {
    #expect(throws: OpeningFailure.self) { try self.opener(migrations).openWriter() }
  }

  private func values(_ connection: SQLiteConnection) throws -> [Int64] {
    try connection.rows("SELECT b FROM a ORDER BY b") { try $0.integer(at: 0) }
  }

  @Test func stepsRunInOrderAndOnce() throws {
    try self.opener([self.first]).openWriter().close()
    let connection = try self.opener([self.first, self.second]).openWriter()
    #expect(try self.values(connection) == [1, 2])
    try connection.close()
    let again = try self.opener([self.first, self.second]).openWriter()
    #expect(try self.values(again) == [1, 2])
    let ledger = try again.rows("SELECT level, name, checksum FROM migrations ORDER BY level") {
      "\(try $0.integer(at: 0)) \(try $0.text(at: 1)) \(try $0.hash(at: 2))"
    }
    #expect(
      ledger == [
        "1 cache-0001-a \(Migrator.checksum(of: self.first))",
        "2 cache-0002-b \(Migrator.checksum(of: self.second))",
      ])
  }

  /// A process that opens a file while another one makes its schema must not take what it reads of the
  /// file before and after that for damage.
  @Test func aSchemaThatAnotherProcessMakesMeanwhileIsNoDamage() throws {
    let path = "\(self.folder.path)/cache.sqlite"
    try DatabaseFiles().makeFile(path)
    let connection = try SQLiteConnection(path: path)
    try connection.pragma("PRAGMA journal_mode = wal")
    let other = OtherMigrator(
      Migrator(connection: try SQLiteConnection(path: path), migrations: [self.first]))
    let handle = try connection.handle(for: "trace")
    // Called before each statement begins, and so between any two of them.
    sqlite3_trace_v2(
      handle, UInt32(SQLITE_TRACE_STMT),
      { _, context, _, sql in
        guard let context, let sql else { return 0 }
        let text = String(cString: sql.assumingMemoryBound(to: CChar.self))
        Unmanaged<OtherMigrator>.fromOpaque(context).takeUnretainedValue().willRun(text)
        return 0
      }, Unmanaged.passUnretained(other).toOpaque())
    try Migrator(connection: connection, migrations: [self.first]).migrate()
    sqlite3_trace_v2(handle, 0, nil, nil)
    #expect(other.hasRun)
    #expect(try self.values(connection) == [1])
    withExtendedLifetime(other) {}
  }

  /// Migrates when a connection looks for the ledger.
  private final class OtherMigrator {
    private let migrator: Migrator
    private(set) var hasRun = false

    init(_ migrator: Migrator) { self.migrator = migrator }

    func willRun(_ sql: String) {
      guard !self.hasRun, sql.contains("name = 'migrations'") else { return }
      self.hasRun = true
      #expect(throws: Never.self) { try self.migrator.migrate() }
    }
  }

  @Test func theLedgerHasTheDate() throws {
    let path = "\(self.folder.path)/cache.sqlite"
    try DatabaseFiles().makeFile(path)
    let connection = try SQLiteConnection(path: path)
    let date = Date(timeIntervalSince1970: 1_700_000_000.25)
    try Migrator(connection: connection, migrations: [self.first], now: { date }).migrate()
    #expect(try connection.pragma("SELECT applied_at FROM migrations") == "1700000000250000")
  }

  @Test func aStepThatFailsLeavesTheOldSchema() throws {
    let broken = Migration(
      name: "cache-0002-broken",
      sql: Array(
        "PRAGMA user_version = 2; INSERT INTO a VALUES (2); INSERT INTO b VALUES (1);".utf8))
    try self.opener([self.first]).openWriter().close()
    let failure = self.failure([self.first, broken])
    #expect(failure?.kind == .unavailable)
    #expect(failure?.error.operation == "cache-0002-broken")
    #expect(failure?.error.message == "no such table: b")
    let connection = try self.opener([self.first]).openWriter()
    #expect(try self.values(connection) == [1])
    #expect(try connection.pragma("PRAGMA user_version") == "1")
  }

  @Test func aNewerFileIsSaidToBeNewerAndCanBeRead() throws {
    try self.opener([self.first, self.second]).openWriter().close()
    let failure = self.failure([self.first])
    #expect(failure?.kind == .newer(level: 2))
    #expect(
      failure?.error.message == "it has level 2, made by a newer release; this one knows 1")
    #expect(throws: OpeningFailure.self) { try self.opener([self.first]).openReader() }
    let reader = try self.opener([self.first]).openReader(acceptsNewer: true)
    #expect(try self.values(reader) == [1, 2])
  }

  @Test func aStepThatChangedIsAnError() throws {
    try self.opener([self.first]).openWriter().close()
    let table = Array(" CREATE TABLE c (d INTEGER) STRICT;".utf8)
    let changed = Migration(name: self.first.name, sql: self.first.sql + table)
    #expect(self.failure([changed])?.kind == .altered)
    let renamed = Migration(name: "cache-0001-z", sql: self.first.sql + table)
    let failure = self.failure([renamed, self.second])
    #expect(failure?.kind == .altered)
    #expect(failure?.error.code == .schema)
  }

  @Test(arguments: [
    "UPDATE migrations SET checksum = x'00112233445566778899aabbccddeeff'",
    "UPDATE migrations SET name = 'cache-0001-b'", "PRAGMA user_version = 3",
    "PRAGMA user_version = 0", "PRAGMA user_version = -2147483647", "PRAGMA application_id = 7",
    "PRAGMA application_id = 0",
  ])
  func aFlippedBitOfWhatNamesTheSchemaIsDamage(_ sql: String) throws {
    try self.opener([self.first]).openWriter().close()
    let connection = try SQLiteConnection(path: self.opener([]).path)
    _ = try connection.rowsOfText(sql)
    try connection.close()
    #expect(self.failure([self.first])?.kind == .corrupt)
  }

  @Test func aLedgerThatIsNotThatOfTheLevelIsCorrupt() throws {
    let connection = try self.opener([self.first]).openWriter()
    try connection.pragma("PRAGMA user_version = 2")
    try connection.close()
    #expect(self.failure([self.first, self.second])?.kind == .corrupt)
    let path = self.opener([]).path
    let other = try SQLiteConnection(path: path)
    try other.pragma("DROP TABLE migrations")
    try other.close()
    #expect(self.failure([self.first, self.second])?.kind == .corrupt)
  }
}
