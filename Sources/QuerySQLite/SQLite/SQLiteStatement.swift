import CSQLite
import FoundationEssentials
package import Query

/// A prepared statement: values are bound to its `?`, the first being 1, and columns, the first
/// being 0, are read after each ``step()`` that returns true.
///
/// Get one from ``SQLiteConnection/withStatement(_:_:)``, for as long as the closure runs.
package final class SQLiteStatement {
  /// Whether it writes nothing.
  let isReadOnly: Bool

  /// Whether a caller is using it.
  fileprivate(set) var isInUse = false

  /// Whether a call failed: then it is not used again.
  fileprivate(set) var hasFailed = false

  /// The number of its last use, counted by the cache.
  var lastUse = 0

  /// Whether the cache holds it.
  var isCached = false

  let handle: OpaquePointer
  private let fileName: String
  private let revealsValues: Bool
  private var isFinalised = false

  /// Prepares a text of one statement.
  ///
  /// - Throws: `StorageError`.
  init(_ sql: SQL, connection: SQLiteConnection) throws(StorageError) {
    let database = try connection.handle(for: "prepare")
    var handle: OpaquePointer?
    var tail: UnsafePointer<CChar>?
    let result = sql.text.withUTF8Buffer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        let result = sqlite3_prepare_v3(
          database, text.baseAddress, Int32(text.count), UInt32(SQLITE_PREPARE_PERSISTENT),
          &handle, &tail)
        precondition(
          tail.map { String(cString: $0).allSatisfy(\.isWhitespace) } ?? true,
          "a text holds one statement: \(sql.text)")
        return result
      }
    }
    try connection.check(result, "prepare", sql: "\(sql.text)")
    guard let handle else { preconditionFailure("a text holds a statement: \(sql.text)") }
    self.handle = handle
    self.isReadOnly = sqlite3_stmt_readonly(handle) != 0
    self.fileName = connection.fileName
    self.revealsValues = connection.options.revealsValues
  }

  deinit { self.finalise() }
}

// MARK: - Use

extension SQLiteStatement {
  /// Begins a use.
  func begin() {
    precondition(!self.isInUse && !self.isFinalised, "a statement has one user at a time")
    self.isInUse = true
  }

  /// Ends a use: the bindings are cleared, and no read stays open.
  func end() {
    // The result is that of the last step, which has been thrown already.
    sqlite3_reset(self.handle)
    sqlite3_clear_bindings(self.handle)
    self.isInUse = false
  }

  /// Finalises it, at most once.
  func finalise() {
    if self.isFinalised { return }
    self.isFinalised = true
    sqlite3_finalize(self.handle)
  }

  /// Runs to the next row.
  ///
  /// - Returns: Whether there is one.
  /// - Throws: `StorageError`.
  package func step() throws(StorageError) -> Bool {
    switch sqlite3_step(self.handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let result: throw self.failure(result, "step")
    }
  }

  /// Runs to the end, skipping any rows.
  ///
  /// - Throws: `StorageError`.
  package func run() throws(StorageError) { while try self.step() {} }

  /// Runs to the end, and makes the statement ready to run again with the same bindings.
  ///
  /// - Throws: `StorageError`.
  func runAgain() throws(StorageError) {
    try self.run()
    sqlite3_reset(self.handle)
  }

  /// The error of a call that failed. The statement is not used again.
  func failure(_ result: Int32, _ operation: String) -> StorageError {
    self.hasFailed = true
    return StorageError(
      operation: operation, result: result, handle: sqlite3_db_handle(self.handle),
      fileName: self.fileName, sql: self.sql, expandedSQL: self.expandedSQL)
  }

  /// The text, without values.
  var sql: String { sqlite3_sql(self.handle).map { String(cString: $0) } ?? "" }

  private var expandedSQL: String? {
    guard self.revealsValues, let text = sqlite3_expanded_sql(self.handle) else { return nil }
    defer { sqlite3_free(text) }
    return String(cString: text)
  }
}

// MARK: - Binding

extension SQLiteStatement {
  /// Binds a NULL.
  package func bindNull(at index: Int32) throws(StorageError) {
    try self.check(sqlite3_bind_null(self.handle, index))
  }

  /// Binds an integer.
  package func bind(_ value: Int64, at index: Int32) throws(StorageError) {
    try self.check(sqlite3_bind_int64(self.handle, index, value))
  }

  /// Binds a number.
  package func bind(_ value: Double, at index: Int32) throws(StorageError) {
    try self.check(sqlite3_bind_double(self.handle, index, value))
  }

  /// Binds a text, including any NUL in it.
  package func bind(_ value: String, at index: Int32) throws(StorageError) {
    var value = value
    let result = value.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        withSomeAddress(text.baseAddress.map { UnsafeRawPointer($0) }) {
          csqlite_bind_text(
            self.handle, index, $0.assumingMemoryBound(to: CChar.self), UInt64(text.count))
        }
      }
    }
    try self.check(result)
  }

  /// Binds bytes. No bytes are an empty blob, never a NULL.
  package func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws(StorageError) {
    let result = withSomeAddress(bytes.baseAddress) {
      csqlite_bind_bytes(self.handle, index, $0, UInt64(bytes.count))
    }
    try self.check(result)
  }

  private func check(_ result: Int32) throws(StorageError) {
    if result != SQLITE_OK { throw self.failure(result, "bind") }
  }
}

/// Calls a closure with an address that is not NULL, which SQLite would bind as NULL.
private func withSomeAddress(
  _ address: UnsafeRawPointer?,
  _ body: (UnsafeRawPointer) -> Int32
) -> Int32 {
  if let address { return body(address) }
  return withUnsafeBytes(of: UInt8(0)) { $0.baseAddress.map(body) ?? SQLITE_NOMEM }
}
