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
}
