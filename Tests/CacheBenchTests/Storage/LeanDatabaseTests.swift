import Foundation
import TestSupport
import Testing

@testable import cache_bench

/// The leanest entries keep what the library's keep.
@Suite struct LeanDatabaseTests {
  private let folder = URL.temporaryDirectory.appending(path: "lean-\(UUID())")
  private let database: LeanDatabase

  init() throws {
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: false)
    self.database = try LeanDatabase(path: self.folder.appending(path: "a.sqlite").path)
    for number in 1...3 { try self.database.write(Self.entry("a,\(number)", "\(number)")) }
  }

  private static func entry(_ identity: String, _ value: String) -> BareEntry {
    BareEntry(identity: identity, value: Data(value.utf8))
  }

  private func numbers(_ sql: String) throws -> [Int64] {
    let statement = try self.database.connection.prepare(sql)
    defer { statement.reset() }
    var numbers = [Int64]()
    while try statement.step() { numbers.append(statement.integer(0)) }
    return numbers
  }

  @Test func anEntryIsWrittenAndReplaced() throws {
    try self.database.write(Self.entry("a,2", "new"))
    #expect(try self.database.value(at: "a,2") == Data("new".utf8))
    #expect(try self.database.value(at: "a,1") == Data("1".utf8))
    #expect(throws: CheckFailure.self) { try self.database.value(at: "b") }
  }

  @Test func aRangeIsReadAndInvalidated() throws {
    #expect(try self.database.values(from: "a,1", to: "a,3").count == 2)
    #expect(try self.database.invalidate(from: "a,2", to: "a,9") == 2)
    #expect(try self.numbers("SELECT updated_at = 0 FROM entries ORDER BY key") == [0, 1, 1])
  }

  @Test func aConfirmationChangesTheDateAndWritesAFrame() throws {
    let dates = try self.numbers("SELECT updated_at FROM entries ORDER BY key")
    let bytes = try self.database.bytesWritten()
    try self.database.transaction { try self.database.confirm("a,2") }
    let after = try self.numbers("SELECT updated_at FROM entries ORDER BY key")
    #expect(after[0] == dates[0] && after[1] > dates[1] && after[2] == dates[2])
    #expect(try self.database.bytesWritten() - bytes == 4_120)
  }

  /// Another program may have done the same before.
  @Test func aConfirmationAfterAnotherOpeningWritesAFrame() throws {
    try self.database.confirm("a,2")
    let again = try LeanDatabase(path: self.folder.appending(path: "a.sqlite").path)
    let bytes = try again.bytesWritten()
    try again.confirm("a,2")
    #expect(try again.bytesWritten() - bytes == 4_120)
  }

  @Test func aPageOfAListHasItsOwnNumber() throws {
    let page = Self.entry("", "page")
    try self.database.write(pages: [page, page], of: 1, from: 0)
    try self.database.write(pages: [page], of: 1, from: 2)
    #expect(try self.numbers("SELECT place & 0xffff FROM pages ORDER BY place") == [0, 1, 2])
  }

  /// Or it is not lean.
  @Test func noTableHasMoreThanFourColumnsOrAnIndexMoreThanOne() throws {
    let columns = try self.numbers(
      """
      SELECT count(*) FROM sqlite_schema AS t, pragma_table_info(t.name)
      WHERE t.type = 'table' GROUP BY t.name
      """)
    #expect(columns.count == 2 && columns.allSatisfy { (2...4).contains($0) })
    #expect(try self.numbers("SELECT count(*) FROM sqlite_schema WHERE type = 'index'") == [1])
  }
}
