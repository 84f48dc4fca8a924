import CSQLite
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
    try self.expectOnePreparation(of: sql, sourceLocation)
  }

  /// Checks that SQLite does not plan a statement anew whenever a value is bound, as it does if it has asked of
  /// a value whether the condition of an index follows from it.
  private func expectOnePreparation(
    of sql: SQL, _ sourceLocation: SourceLocation
  ) throws {
    var count: Int32 = 0
    try self.connection.write {
      for value: Int64 in 1...3 {
        try self.connection.withStatement(sql) { row in
          for index in 0..<sqlite3_bind_parameter_count(row.handle) {
            try row.bind(value, at: index + 1)
          }
          // A column of another type refuses the value, which does not matter here.
          _ = try? row.step()
          count += sqlite3_stmt_status(row.handle, SQLITE_STMTSTATUS_REPREPARE, 1)
        }
      }
    }
    #expect(count == 0, "\(sql)", sourceLocation: sourceLocation)
  }
}
