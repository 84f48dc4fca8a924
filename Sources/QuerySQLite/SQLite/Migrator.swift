import CSQLite
import FoundationEssentials
import Migrations
import Query

/// Migrates the schema of a database to the level of this release.
///
/// Each migration runs in one IMMEDIATE transaction together with its row in the ledger: after a
/// kill at any point the schema is the old one or the new one.
struct Migrator {
  let connection: SQLiteConnection
  let migrations: [Migration]

  /// The wall time, for the ledger.
  var now: @Sendable () -> Date = { Date() }

  /// The checksum of a migration, as stored in the ledger.
  static func checksum(of migration: Migration) -> XXH128 {
    migration.sql.withUnsafeBytes { XXH128(hashing: $0) }
  }

  /// Runs the missing migrations, and checks those that have run.
  ///
  /// - Throws: `OpeningFailure`: newer, altered, or an error of SQLite.
  func migrate() throws(OpeningFailure) {
    do {
      // As of one moment: another process may create the schema after the level was read.
      var level = try self.connection.read { try self.checkedLevel() }
      while level < self.migrations.count {
        // Another process may have run it since the level was read.
        level = try self.connection.write {
          let level = try self.checkedLevel()
          if level < self.migrations.count { try self.run(level) }
          return level + 1
        }
      }
    } catch let failure as OpeningFailure {
      throw failure
    } catch let error as StorageError {
      throw OpeningFailure(error)
    } catch {
      throw OpeningFailure(
        StorageError(operation: "migrate", code: .error, message: "\(error)"))
    }
  }

  private func run(_ index: Int) throws {
    let migration = self.migrations[index]
    try self.connection.runScript(migration.sql, named: migration.name)
    try self.connection.execute(
      LedgerRow.insert, index + 1, migration.name, Self.checksum(of: migration),
      Int64((self.now().timeIntervalSince1970 * 1_000_000).rounded()))
  }
}

// MARK: - The ledger

/// A migration that has run.
private struct LedgerRow {
  static let insert: SQL =
    "INSERT INTO migrations (level, name, checksum, applied_at) VALUES (?, ?, ?, ?)"
  static let table: SQL =
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'"
  static let all: SQL = "SELECT level, name, checksum FROM migrations ORDER BY level"

  let level: Int
  let name: String
  let checksum: XXH128

  init(_ statement: SQLiteStatement) throws {
    self.level = Int(try statement.integer(at: 0))
    self.name = try statement.text(at: 1)
    self.checksum = try statement.hash(at: 2)
  }
}

extension Migrator {
  /// The level of the file, 0 for an empty one.
  ///
  /// - Throws: `StorageError`, corrupt if the ledger and the header disagree; `OpeningFailure`:
  ///   newer or altered.
  private func checkedLevel() throws -> Int {
    let level = try self.connection.first("PRAGMA user_version") { Int(try $0.integer(at: 0)) } ?? 0
    guard let ledger = try self.ledger() else {
      if level == 0 { return 0 }
      throw self.corrupt("the ledger of its schema is missing")
    }
    // The header stores the level in 32 bits, and a flipped bit can turn it into any number.
    guard level > 0, ledger.count == level,
      ledger.enumerated().allSatisfy({ $1.level == $0 + 1 })
    else {
      throw self.corrupt("the ledger of its schema is not that of level \(level)")
    }
    if level > self.migrations.count { throw self.newer(level) }
    for (row, migration) in zip(ledger, self.migrations)
    where row.name != migration.name || row.checksum != Self.checksum(of: migration) {
      if try self.hasSchema(of: level) {
        throw self.corrupt("the ledger of its schema has level \(level) as no release has made it")
      }
      throw self.altered(row, migration)
    }
    return level
  }

  /// The migrations that made the schema; nil if there is no such table.
  private func ledger() throws -> [LedgerRow]? {
    guard try self.connection.first(LedgerRow.table, read: { _ in true }) == true else {
      return nil
    }
    return try self.connection.rows(LedgerRow.all) { try LedgerRow($0) }
  }

  private static let schema: SQL = """
    SELECT coalesce(group_concat(type || ' ' || name || ' ' || tbl_name || ' ' || sql, ';'), '')
    FROM (SELECT * FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name)
    """

  /// Whether the schema is the one that the migrations make: then the ledger was changed, and not a
  /// migration.
  private func hasSchema(of level: Int) throws -> Bool {
    let own = try SQLiteConnection.inMemory(Array(self.migrations.prefix(level)))
    defer { try? own.close() }
    return try own.pragma(Self.schema) == self.connection.pragma(Self.schema)
  }

  private func newer(_ level: Int) -> OpeningFailure {
    OpeningFailure(
      .newer(level: level),
      self.error(
        .schema,
        "it has level \(level), made by a newer release; this one knows \(self.migrations.count)"))
  }

  private func altered(_ row: LedgerRow, _ migration: Migration) -> OpeningFailure {
    OpeningFailure(
      .altered,
      self.error(
        .schema,
        """
        level \(row.level) was made by \(row.name) (\(row.checksum)), which is now \
        \(migration.name) (\(Self.checksum(of: migration))); a released step must not change
        """))
  }

  private func corrupt(_ message: String) -> StorageError { self.error(.corrupt, message) }

  private func error(_ code: StorageError.Code, _ message: String) -> StorageError {
    StorageError(
      operation: "migrate", code: code, message: message, fileName: self.connection.fileName)
  }
}

// MARK: - Scripts

extension SQLiteConnection {
  /// Runs all statements of a text in the open transaction. None of them is cached.
  ///
  /// - Throws: `StorageError` that names the script.
  fileprivate func runScript(_ sql: [UInt8], named name: String) throws(StorageError) {
    precondition(self.transaction == .write, "a script runs inside write { }")
    let handle = try self.handle(for: name)
    let result = (sql + [0]).withUnsafeBytes { bytes -> Int32 in
      sqlite3_exec(handle, bytes.assumingMemoryBound(to: CChar.self).baseAddress, nil, nil, nil)
    }
    try self.check(result, name)
  }
}

extension SQLiteConnection {
  /// Makes an empty database in memory.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  static func inMemory(
    _ migrations: [Migration], of kind: DatabaseKind = .mutations
  ) throws -> SQLiteConnection {
    var options = SQLiteConnection.Options()
    options.parameters = ["mode": "memory"]
    options.keepsReferences = false
    let connection = try SQLiteConnection(path: "/mutations.salvage", options: options)
    // It takes pages for itself.
    if kind.shrinks { try connection.pragma("PRAGMA auto_vacuum = 2") }
    try Migrator(connection: connection, migrations: migrations).migrate()
    return connection
  }
}
