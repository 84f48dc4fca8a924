import StorageTestSupport
import Testing

@testable import QuerySQLite

/// What `EXPLAIN QUERY PLAN` says of the statements of a file.
struct StatementPlans {
  let connection: SQLiteConnection

  subscript(_ sql: SQL) -> String {
    get throws {
      try self.connection.rowsOfText("EXPLAIN QUERY PLAN \(sql.text)").joined(separator: "\n")
    }
  }

  /// Checks that a statement goes by an index, and neither reads a whole table nor sorts.
  func expectSeek(
    of sql: SQL, by index: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let plan = try self[sql]
    #expect(plan.contains("SEARCH"), "\(plan)", sourceLocation: sourceLocation)
    try self.expectSearch(of: sql, by: index, sourceLocation)
  }

  /// Checks that a statement goes by the number of the row, and neither reads a whole table nor sorts.
  func expectRowNumber(
    of sql: SQL, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try self.expectSearch(of: sql, by: "INTEGER PRIMARY KEY", sourceLocation)
  }

  private func expectSearch(
    of sql: SQL, by words: String, _ sourceLocation: SourceLocation
  ) throws {
    let plan = try self[sql]
    #expect(plan.contains(words), "\(plan)", sourceLocation: sourceLocation)
    #expect(!plan.contains("SCAN"), "\(plan)", sourceLocation: sourceLocation)
    #expect(!plan.contains("TEMP B-TREE"), "\(plan)", sourceLocation: sourceLocation)
  }
}
