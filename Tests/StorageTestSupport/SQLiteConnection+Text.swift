import CSQLite
package import QuerySQLite

extension SQLiteConnection {
  /// The rows of a text that a test has put together, each as its texts with spaces between.
  package func rowsOfText(_ sql: String) throws -> [String] {
    var rows = [String]()
    var statement: OpaquePointer?
    let result = sqlite3_prepare_v2(try self.handle(for: "test"), sql, -1, &statement, nil)
    try self.check(result, "test", sql: sql)
    defer { sqlite3_finalize(statement) }
    while sqlite3_step(statement) == SQLITE_ROW {
      let texts = (0..<sqlite3_column_count(statement)).map { column in
        sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
      }
      rows.append(texts.joined(separator: " "))
    }
    return rows
  }
}

extension SQLiteConnection.Options {
  /// Waits for a lock for as long as a busy machine may take: other tests run at the same time.
  package static var patient: Self {
    var options = Self()
    options.busyTimeout = .seconds(300)
    return options
  }
}

extension SQLiteConnection {
  /// Makes the file one of a newer release.
  package func raiseLevel(to level: Int) throws {
    _ = try self.rowsOfText("PRAGMA user_version = \(level)")
    for number in 2...level {
      _ = try self.rowsOfText(
        "INSERT INTO migrations VALUES (\(number), 'step \(number)', x'\(String(repeating: "0", count: 32))', 0)"
      )
    }
  }
}
