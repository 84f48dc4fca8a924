import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// A damaged database is read page by page, as SQLite has written it.
@Suite struct DatabaseImageTests {
  /// How many bytes of a row are in its page, and how many beside it, depends on the size.
  @Test(arguments: [
    0, 4_057, 4_058, 4_059, 4_100, 8_149, 8_150, 8_151, 8_152, 12_242, 12_243, 16_335, 16_336,
  ])
  func aRowOfAnySizeIsReadAsItWasWritten(_ count: Int) throws {
    let folder = try TemporaryFolder()
    let connection = try Self.connection(in: folder, "CREATE INDEX by_x ON rows (x)")
    let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try connection.write { try connection.execute("INSERT INTO rows VALUES (?)", Data(value)) }
    try connection.close()
    let image = try DatabaseImage(path: connection.path)
    #expect(StoredValue.record(try Self.record(image, 2)) == [.blob(value)])
    #expect(StoredValue.record(try Self.record(image, 3)) == [.blob(value), .integer(1)])
  }

  /// More of them is beside it.
  @Test(arguments: [998, 999, 1_000, 5_089, 5_090, 5_091, 9_182, 9_183])
  func soIsARecordOfAnIndexOfAnySize(_ count: Int) throws {
    try self.aRowOfAnySizeIsReadAsItWasWritten(count)
  }

  /// A connection to a new file with a table of one column.
  private static func connection(
    in folder: TemporaryFolder, _ statement: SQL
  ) throws -> SQLiteConnection {
    let path = "\(folder.path)/mutations.sqlite"
    try DatabaseFiles().makeFile(path)
    let connection = try SQLiteConnection(path: path)
    try connection.pragma("CREATE TABLE rows (x BLOB)")
    try connection.pragma(statement)
    return connection
  }

  /// The first record of a page.
  private static func record(_ image: DatabaseImage, _ number: Int) throws -> [UInt8] {
    let page = try #require(image.current(number))
    let node = try #require(TreePage(page))
    #expect(node.isCoherent)
    let cell = try #require(node.cells.first)
    return try #require(image.record(of: cell, in: page)).bytes
  }

  /// Up to the last page of the file; one behind its end has only what the log says.
  @Test func aPageOfTheLogHasBeenAsTheFileHasIt() throws {
    let folder = try TemporaryFolder()
    let connection = try Self.connection(in: folder, "PRAGMA journal_mode = WAL")
    try connection.write { try connection.execute("INSERT INTO rows VALUES ('old')") }
    _ = try connection.checkpoint(.truncate)
    let file = Array(try Data(contentsOf: URL(filePath: connection.path)))
    let value = Data(repeating: 7, count: 10_000)
    try connection.write { try connection.execute("INSERT INTO rows VALUES (?)", value) }
    let image = try DatabaseImage(path: connection.path)
    try connection.close()
    let last = file.count / image.pageSize
    #expect(last == 2 && image.pageCount > last)
    let older = image.older(last)
    #expect(older.count == 1)
    let page = try #require(older.first)
    #expect(page.bytes[page.offset..<page.offset + page.size] == file.suffix(image.pageSize))
    let cell = try #require(TreePage(page)?.cells.first)
    let record = try #require(image.record(of: cell, in: page)).bytes
    #expect(StoredValue.record(record) == [.text(Array("old".utf8))])
    #expect(image.older(last + 1).isEmpty)
  }

  /// Of a process that was killed before it copied anything from its log into the file.
  @Test func aRowThatIsLargerThanTheFileIsFoundInTheLog() throws {
    let folder = try TemporaryFolder()
    let connection = try Self.connection(in: folder, "PRAGMA journal_mode = WAL")
    let value = [UInt8](repeating: 7, count: 100_000)
    try connection.write { try connection.execute("INSERT INTO rows VALUES (?)", Data(value)) }
    let image = try DatabaseImage(path: connection.path)
    let size = try Data(contentsOf: URL(filePath: connection.path)).count
    try connection.close()
    #expect(size < value.count)
    #expect(StoredValue.record(try Self.record(image, 2)) == [.blob(value)])
    #expect(image.pageCount > value.count / image.pageSize)
  }
}
