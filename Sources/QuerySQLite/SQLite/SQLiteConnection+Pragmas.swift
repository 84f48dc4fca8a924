import CSQLite
package import Query

extension SQLiteConnection {
  /// Runs a pragma, inside a transaction or outside, and does not cache its statement.
  ///
  /// - Returns: The first column of its first row, as text, if it returns one.
  /// - Throws: `StorageError`.
  @discardableResult
  package func pragma(_ sql: SQL) throws(StorageError) -> String? {
    let statement = try SQLiteStatement(sql, connection: self)
    defer { statement.finalise() }
    var answer: String?
    while try statement.step() {
      let text = sqlite3_column_text(statement.handle, 0)
      answer = answer ?? text.map { String(cString: $0) }
    }
    return answer
  }
}
