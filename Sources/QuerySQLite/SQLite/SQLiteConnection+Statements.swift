import CSQLite
import FoundationEssentials
import Glibc
package import Query

// MARK: - Statements

extension SQLiteConnection {
  /// Passes a prepared statement to a closure. However the closure ends, the statement is reset and
  /// its bindings are cleared; a statement that failed is finalised, the others are cached.
  ///
  /// A statement that writes may only run inside ``write(_:)``.
  ///
  /// - Throws: `StorageError`, and what the closure throws.
  package func withStatement<R>(_ sql: SQL, _ body: (SQLiteStatement) throws -> R) throws -> R {
    let statement = try self.begin(sql)
    defer { self.end(statement, sql) }
    return try body(statement)
  }

  /// Runs a statement to its end.
  ///
  /// - Throws: `StorageError`.
  package func execute<each Value: SQLiteBindable>(
    _ sql: SQL,
    _ values: repeat each Value
  ) throws(StorageError) {
    let statement = try self.begin(sql)
    defer { self.end(statement, sql) }
    try statement.bindAll(repeat each values)
    try statement.run()
  }

  /// Reads the first row.
  ///
  /// - Returns: The closure's result, or nil if there is no row.
  /// - Throws: `StorageError`, and what the closure throws.
  package func first<R, each Value: SQLiteBindable>(
    _ sql: SQL,
    _ values: repeat each Value,
    read: (SQLiteStatement) throws -> R
  ) throws -> R? {
    let statement = try self.begin(sql)
    defer { self.end(statement, sql) }
    try statement.bindAll(repeat each values)
    return try statement.step() ? try read(statement) : nil
  }

  /// Reads all rows.
  ///
  /// - Throws: `StorageError`, and what the closure throws.
  package func rows<R, each Value: SQLiteBindable>(
    _ sql: SQL,
    _ values: repeat each Value,
    read: (SQLiteStatement) throws -> R
  ) throws -> [R] {
    let statement = try self.begin(sql)
    defer { self.end(statement, sql) }
    try statement.bindAll(repeat each values)
    var rows = [R]()
    while try statement.step() { rows.append(try read(statement)) }
    return rows
  }

  /// How many rows the last writing statement inserted, changed or deleted.
  package var changes: Int {
    get throws(StorageError) { Int(sqlite3_changes64(try self.handle(for: "count changes"))) }
  }

  /// The row identifier of the last row that was inserted.
  package var lastInsertedID: Int64 {
    get throws(StorageError) { sqlite3_last_insert_rowid(try self.handle(for: "read row id")) }
  }

  func begin(_ sql: SQL) throws(StorageError) -> SQLiteStatement {
    let statement: SQLiteStatement
    if let cached = self.statements.statement(for: sql) {
      statement = cached
    } else {
      statement = try SQLiteStatement(sql, connection: self)
      statement.isCached = self.statements.insert(statement, for: sql)
    }
    if !statement.isReadOnly { try self.requireWriteTransaction(sql) }
    statement.begin()
    return statement
  }

  private func requireWriteTransaction(_ sql: SQL) throws(StorageError) {
    precondition(
      self.transaction == .write, "a statement that writes runs inside write { }: \(sql.text)")
    // A full disk and some other errors roll the transaction back at once. Statements that followed
    // would be committed on their own.
    if sqlite3_get_autocommit(try self.handle(for: "write")) == 0 { return }
    throw StorageError(
      operation: "write", code: .error, message: "an earlier error has undone the transaction",
      sql: "\(sql.text)", fileName: self.fileName)
  }

  func end(_ statement: SQLiteStatement, _ sql: SQL) {
    statement.end()
    if statement.isCached && !statement.hasFailed && !self.isClosed { return }
    if statement.isCached { self.statements.remove(sql) }
    statement.finalise()
  }
}

extension SQLiteStatement {
  /// Binds values in their order, from the first `?` on.
  package func bindAll<each Value: SQLiteBindable>(_ values: repeat each Value) throws(StorageError)
  {
    var index: Int32 = 0
    for value in repeat each values {
      index += 1
      try value.bind(to: self, at: index)
    }
    self.requireBound(index)
  }

  /// Stops the program unless as many values were bound as there are `?`.
  func requireBound(_ count: Int32) {
    precondition(
      count == sqlite3_bind_parameter_count(self.handle), "one value for each ?: \(self.sql)")
  }
}
