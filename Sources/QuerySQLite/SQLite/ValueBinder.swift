import CSQLite
import Query

/// Binds the values of a statement, one after another.
struct ValueBinder: ~Copyable {
  private let statement: SQLiteStatement
  private var count: Int32 = 0

  fileprivate init(_ statement: SQLiteStatement) { self.statement = statement }

  /// Binds the next value.
  ///
  /// - Throws: `StorageError`, for example if it is longer than SQLite allows.
  mutating func bind(_ value: some SQLiteBindable) throws(StorageError) {
    self.count += 1
    try value.bind(to: self.statement, at: self.count)
  }

  fileprivate consuming func finish() { self.statement.requireBound(self.count) }
}

extension SQLiteConnection {
  /// Runs a statement to its end. For rows of many columns: a parameter pack of as many values, each bound
  /// through the witness of its type, takes longer than all else of the statement.
  ///
  /// - Parameter bind: Binds each value, in the order of the `?`.
  /// - Throws: `StorageError`.
  func execute(
    _ sql: SQL, binding bind: (inout ValueBinder) throws(StorageError) -> Void
  ) throws(StorageError) {
    let statement = try self.begin(sql)
    defer { self.end(statement, sql) }
    var binder = ValueBinder(statement)
    try bind(&binder)
    binder.finish()
    try statement.run()
  }
}
