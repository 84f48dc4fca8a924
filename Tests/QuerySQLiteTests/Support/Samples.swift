import CSQLite
import Foundation
import Query
import StorageTestSupport

@testable import QuerySQLite

extension DatabaseOpener {
  /// An opener in a temporary folder, on a VFS if one is given.
  init(_ kind: DatabaseKind, in folder: TemporaryFolder, vfs: FaultVFS? = nil) {
    self.init(kind: kind, folder: folder.path)
    self.options.vfs = vfs?.name
  }
}

extension SQLiteConnection {
  /// Opens a new database with a table of texts.
  static func scratch(
    in folder: TemporaryFolder,
    options: Options = .patient
  ) throws -> SQLiteConnection {
    let path = "\(folder.path)/scratch.sqlite"
    let isNew = !FileManager.default.fileExists(atPath: path)
    try DatabaseFiles().makeFile(path)
    let connection = try SQLiteConnection(path: path, options: options)
    if isNew {
      try connection.pragma("PRAGMA journal_mode = WAL")
      try connection.write { try connection.execute(Scratch.create) }
    }
    return connection
  }

  /// All texts of a scratch database.
  func texts() throws -> [String] { try self.rows(Scratch.read) { try $0.text(at: 0) } }
}

/// The statements of a scratch database.
enum Scratch {
  static let create: SQL = "CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT UNIQUE) STRICT"
  static let insert: SQL = "INSERT INTO texts (text) VALUES (?)"
  static let read: SQL = "SELECT text FROM texts ORDER BY id"
}

extension EntryRow {
  /// A row with a value of 1 KB.
  static func sample(_ number: Int, revision: Int64 = 1, value: Data? = nil) -> EntryRow {
    let identity = "[\"sample\",\(number)]"
    let value = value ?? Data(repeating: UInt8(truncatingIfNeeded: number), count: 1_024)
    return EntryRow(
      partition: 1, hash: XXH128(hashing: identity), identity: identity, revision: revision,
      kind: "query", coder: "json", valueVersion: 1, valueUpdatedAt: 1_700_000_000_000_000,
      valueUpdateCount: 1, lastUse: Int64(number), byteCount: Int64(value.count),
      checksum: XXH128(hashing: value), value: value)
  }
}
