import Foundation
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Zeros in the place of deleted rows.
@Suite struct PageScrubTests {
  private let folder: TemporaryFolder
  private let connection: SQLiteConnection

  init() throws {
    self.folder = try TemporaryFolder()
    self.connection = try .scratch(in: self.folder)
    try self.connection.pragma("PRAGMA secure_delete = 0")
  }

  private func scrub() throws {
    _ = try self.connection.checkpoint(.restart)
    var scrub = PageScrub()
    while !scrub.isDone {
      let hasRun = try self.connection.write {
        try scrub.run(StepBudget(rows: .max), on: self.connection)
      }
      try #require(hasRun)
    }
    #expect(try self.connection.pragma("PRAGMA integrity_check") == "ok")
  }

  /// The rows are short, so that their pointers take up much of the page.
  @Test func theGapBetweenPointersAndCellsIsOverwritten() throws {
    let secret = "a text that nobody may find again"
    for sql in [
      "CREATE TABLE short (text TEXT)",
      "INSERT INTO short VALUES (replace(hex(zeroblob(110)), '00', '\(secret) '))",
      "DELETE FROM short WHERE rowid = 1",
      """
      WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 200)
      INSERT INTO short SELECT n FROM numbers
      """,
    ] {
      _ = try self.connection.rowsOfText(sql)
    }
    try self.scrub()
    #expect(try self.connection.rowsOfText("SELECT count(*) FROM short") == ["200"])
    try self.connection.close()
    let file = try Data(contentsOf: URL(filePath: self.connection.path))
    #expect(file.range(of: Data(secret.utf8)) == nil)
  }

  /// More pointers than bytes between them and the cells.
  @Test func fullPagesStayAsTheyAre() throws {
    for number in 0..<1_000 {
      try self.connection.write { try self.connection.execute(Scratch.insert, "\(number)") }
    }
    try self.scrub()
    #expect(try self.connection.texts() == (0..<1_000).map { "\($0)" })
  }

  /// Where a damaged number leads instead of the page with the rest of a row.
  enum Target: CaseIterable {
    case ownPage, otherTable, nowhere, beyondTheEnd
  }

  @Test(arguments: Target.allCases)
  func aDamagedNumberLetsNoRowOfAnotherPageBeOverwritten(_ target: Target) throws {
    for sql in [
      "CREATE TABLE long (text TEXT)", "CREATE TABLE short (text TEXT)",
      "INSERT INTO long VALUES ('first'), (hex(zeroblob(2500)))",
      """
      WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 200)
      INSERT INTO short SELECT n FROM numbers
      """,
    ] {
      _ = try self.connection.rowsOfText(sql)
    }
    _ = try self.connection.checkpoint(.truncate)
    let path = self.connection.path
    func root(of table: String) throws -> Int {
      let rows = try self.connection.rowsOfText(
        "SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'")
      return try #require(rows.first.flatMap { Int($0) })
    }
    let (long, short) = (try root(of: "long"), try root(of: "short"))
    try self.connection.close()
    var bytes = Array(try Data(contentsOf: URL(filePath: path)))
    let page = try #require(DatabaseImage(file: bytes, log: []).current(long))
    let cell = try #require(TreePage(page)?.cells.first { $0.overflow != nil })
    let number =
      switch target {
      case .ownPage: long
      case .otherTable: short
      case .nowhere: 0
      case .beyondTheEnd: bytes.count / 4_096 + 5
      }
    for byte in 0..<4 {
      bytes[cell.local.upperBound + byte] = UInt8(truncatingIfNeeded: number >> (24 - 8 * byte))
    }
    try Data(bytes).write(to: URL(filePath: path))
    let connection = try SQLiteConnection.scratch(in: self.folder)
    var scrub = PageScrub()
    while !scrub.isDone {
      let hasRun = try connection.write {
        try scrub.run(StepBudget(rows: .max), on: connection)
      }
      try #require(hasRun)
    }
    try connection.close()
    let after = try SQLiteConnection.scratch(in: self.folder)
    #expect(try after.rowsOfText("SELECT count(*) FROM short") == ["200"])
    #expect(try after.rowsOfText("SELECT text FROM long WHERE rowid = 1") == ["first"])
    try after.close()
  }

  /// SQLite leaves out the page at 1 GiB, and no other one.
  @Test func theBytesOfAFreePageAtTwoGiBAreOverwritten() throws {
    _ = try self.connection.checkpoint(.truncate)
    let path = self.connection.path
    try self.connection.close()
    func bigEndian(_ numbers: [Int]) -> Data {
      Data(numbers.flatMap { number in (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xff) } })
    }
    // The last page lists the one before it, and nothing is between them and the others.
    let place = 2 << 30
    let free = place / 4_096 + 1
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.truncate(atOffset: UInt64(place + 2 * 4_096))
    for (offset, numbers) in [(28, [free + 1, free + 1, 2]), (place + 4_096, [0, 1, free])] {
      try file.seek(toOffset: UInt64(offset))
      try file.write(contentsOf: bigEndian(numbers))
    }
    try file.seek(toOffset: UInt64(place))
    try file.write(contentsOf: Data("a text that nobody may find again".utf8))
    try file.close()
    let connection = try SQLiteConnection.scratch(in: self.folder)
    var scrub = PageScrub()
    let hasRun = try connection.write { try scrub.run(.rows(2), on: connection) }
    #expect(hasRun)
    try connection.close()
    let after = try FileHandle(forReadingFrom: URL(filePath: path))
    try after.seek(toOffset: UInt64(place))
    #expect(try after.read(upToCount: 4_096) == Data(count: 4_096))
    try after.close()
  }
}
