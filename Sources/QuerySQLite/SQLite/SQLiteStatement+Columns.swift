import CSQLite
package import FoundationEssentials
package import Query

// MARK: - Reading the columns of a row

/// All tables are STRICT, so a value of another type means a damaged file or a wrong statement:
/// reading it throws `StorageError` (mismatch), and never converts it. The returned value is copied
/// once, out of SQLite's own memory.
extension SQLiteStatement {
  /// Whether the column is NULL.
  package func isNull(at index: Int32) -> Bool {
    sqlite3_column_type(self.handle, index) == SQLITE_NULL
  }

  /// An integer.
  package func integer(at index: Int32) throws(StorageError) -> Int64 {
    try self.expect(SQLITE_INTEGER, at: index)
    return sqlite3_column_int64(self.handle, index)
  }

  /// An integer of a row that is known to be damaged: 0 if it is not an integer.
  func rawInteger(at index: Int32) -> Int64 { sqlite3_column_int64(self.handle, index) }

  /// An integer, or nil for a NULL.
  package func optionalInteger(at index: Int32) throws(StorageError) -> Int64? {
    self.isNull(at: index) ? nil : try self.integer(at: index)
  }

  /// Whether an integer is not 0.
  package func bool(at index: Int32) throws(StorageError) -> Bool {
    try self.integer(at: index) != 0
  }

  /// A number.
  func real(at index: Int32) throws(StorageError) -> Double {
    try self.expect(SQLITE_FLOAT, at: index)
    return sqlite3_column_double(self.handle, index)
  }

  /// A text, including any NUL in it. Invalid UTF-8 becomes U+FFFD.
  package func text(at index: Int32) throws(StorageError) -> String {
    try self.expect(SQLITE_TEXT, at: index)
    guard let start = sqlite3_column_text(self.handle, index) else { throw self.outOfMemory() }
    let count = Int(sqlite3_column_bytes(self.handle, index))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// A text, or nil for a NULL.
  package func optionalText(at index: Int32) throws(StorageError) -> String? {
    self.isNull(at: index) ? nil : try self.text(at: index)
  }

  /// Bytes.
  package func data(at index: Int32) throws(StorageError) -> Data {
    try self.withBytes(at: index) { Data($0) }
  }

  /// Bytes, or nil for a NULL.
  package func optionalData(at index: Int32) throws(StorageError) -> Data? {
    self.isNull(at: index) ? nil : try self.data(at: index)
  }

  /// A hash. Any other number of bytes than 16 is a mismatch.
  package func hash(at index: Int32) throws(StorageError) -> XXH128 {
    guard let hash = try self.withBytes(at: index, { XXH128(bytes: $0) }) else {
      throw self.mismatch("a hash has 16 bytes", at: index)
    }
    return hash
  }

  /// Calls a closure with the bytes in SQLite's memory, which are valid until it returns.
  package func withBytes<R>(
    at index: Int32,
    _ body: (UnsafeRawBufferPointer) -> R
  ) throws(StorageError) -> R {
    try self.expect(SQLITE_BLOB, at: index)
    let start = sqlite3_column_blob(self.handle, index)
    let count = Int(sqlite3_column_bytes(self.handle, index))
    if start == nil && count > 0 { throw self.outOfMemory() }
    return body(UnsafeRawBufferPointer(start: start, count: count))
  }
}

// MARK: - Errors

extension SQLiteStatement {
  private func expect(_ type: Int32, at index: Int32) throws(StorageError) {
    let found = sqlite3_column_type(self.handle, index)
    if found == type { return }
    throw self.mismatch("it has type \(found), not \(type)", at: index)
  }

  private func mismatch(_ what: String, at index: Int32) -> StorageError {
    let failure = self.failure(SQLITE_MISMATCH, "read column")
    let name = sqlite3_column_name(self.handle, index).map { String(cString: $0) } ?? "\(index)"
    return StorageError(
      operation: failure.operation, code: failure.extendedCode, message: "\(name): \(what)",
      sql: failure.sql, expandedSQL: failure.expandedSQL, fileName: failure.fileName)
  }

  private func outOfMemory() -> StorageError { self.failure(SQLITE_NOMEM, "read column") }
}
