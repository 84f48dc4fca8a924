import CSQLite
import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct SQLiteConnectionTests {
  private let folder: TemporaryFolder

  init() throws { self.folder = try TemporaryFolder() }

  @Test func aMissingFileIsNotMade() throws {
    let path = "\(self.folder.path)/none.sqlite"
    let error = #expect(throws: StorageError.self) { try SQLiteConnection(path: path) }
    #expect(error?.code == .cannotOpen)
    #expect(error?.fileName == "none.sqlite")
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func aPathIsNoURIAndNoPattern() throws {
    let name = "file:a?b%20#'\"ü.sqlite"
    let path = "\(self.folder.path)/\(name)"
    try DatabaseFiles().makeFile(path)
    let connection = try SQLiteConnection(path: path)
    try connection.pragma("PRAGMA user_version = 7")
    try connection.close()
    var options = SQLiteConnection.Options()
    options.isReadOnly = true
    options.parameters = ["immutable": "1", "cache": "private"]
    let reader = try SQLiteConnection(path: path, options: options)
    #expect(try reader.pragma("PRAGMA user_version") == "7")
    #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == [name])
  }

  @Test func extendedCodesAreOn() throws {
    let connection = try SQLiteConnection.scratch(in: self.folder)
    let error = #expect(throws: StorageError.self) {
      try connection.write {
        try connection.execute(Scratch.insert, "a")
        try connection.execute(Scratch.insert, "a")
      }
    }
    #expect(error?.extendedCode.rawValue == SQLITE_CONSTRAINT | (8 << 8))
  }

  @Test func nothingIsCheckpointedByItself() throws {
    let connection = try SQLiteConnection.scratch(in: self.folder)
    try connection.pragma("PRAGMA synchronous = 0")
    let before = DatabaseFiles().size(of: connection.path)
    for number in 0..<1_200 {
      try connection.write { try connection.execute(Scratch.insert, "\(number)") }
    }
    #expect(connection.walFrames > 1_000)
    #expect(DatabaseFiles().size(of: connection.path) == before)
    #expect(try connection.pragma("PRAGMA wal_autocheckpoint") == "0")
    #expect(try connection.pragma("PRAGMA mmap_size") == "0")
  }

  @Test func theSchemaOfAFileCannotCallOrDamageAnything() throws {
    let connection = try SQLiteConnection.scratch(in: self.folder)
    #expect(throws: StorageError.self) {
      try connection.pragma("PRAGMA writable_schema = 1")
      try connection.write {
        try connection.execute("UPDATE sqlite_schema SET sql = 'x'")
      }
    }
    #expect(try connection.pragma("PRAGMA foreign_keys") == "1")
  }

  @Test func afterClosingEverythingThrowsMisuse() throws {
    let connection = try SQLiteConnection.scratch(in: self.folder)
    try connection.close()
    try connection.close()
    #expect(connection.isClosed)
    for operation in [
      { try connection.execute("SELECT 1") },
      { try connection.write {} },
      { try connection.read {} },
      { _ = try connection.checkpoint(.full) },
      { _ = try connection.hasMoved },
      { _ = try connection.writtenPages },
    ] {
      let error = #expect(throws: StorageError.self) { try operation() }
      #expect(error?.code == .misuse)
      #expect(error?.message == "the connection is closed")
    }
  }

  @Test func aCloseNamesWhatIsInUseAndLeavesItOpen() throws {
    let connection = try SQLiteConnection.scratch(in: self.folder)
    let sql: SQL = "SELECT 1 UNION SELECT 2"
    try connection.withStatement(sql) { statement in
      let hasFirst = try statement.step()
      #expect(hasFirst)
      let error = storageError { try connection.close() }
      #expect(error?.code == .busy)
      #expect(error?.message == "1 statements are in use")
      #expect(error?.sql == "SELECT 1 UNION SELECT 2")
      let hasSecond = try statement.step()
      #expect(hasSecond)
    }
    #expect(try connection.texts() == [])
    try connection.close()
  }

  @Test func theLastToLeaveTidiesUp() throws {
    let writer = try SQLiteConnection.scratch(in: self.folder)
    var options = SQLiteConnection.Options()
    options.checkpointsOnClose = false
    let reader = try SQLiteConnection(path: writer.path, options: options)
    #expect(try reader.texts() == [])
    try writer.write { try writer.execute(Scratch.insert, "a") }
    try reader.close()
    #expect(FileManager.default.fileExists(atPath: "\(writer.path)-wal"))
    try writer.close()
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["scratch.sqlite"])
  }
}
