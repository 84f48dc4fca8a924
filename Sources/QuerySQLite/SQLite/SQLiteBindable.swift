import FoundationEssentials
package import Query

/// A value that can be bound to a `?`.
package protocol SQLiteBindable {
  /// Binds the value.
  ///
  /// - Throws: `StorageError`, for example if it is longer than SQLite allows.
  func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError)
}

extension Int64: SQLiteBindable {
  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(self, at: index)
  }
}

extension Int: SQLiteBindable {
  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(Int64(self), at: index)
  }
}

extension Bool: SQLiteBindable {
  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(self ? 1 : 0 as Int64, at: index)
  }
}

extension Double: SQLiteBindable {
  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(self, at: index)
  }
}

extension String: SQLiteBindable {
  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(self, at: index)
  }
}

extension Data: SQLiteBindable {
  func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    let result = self.withUnsafeBytes { bytes in
      Result { () throws(StorageError) in try statement.bind(bytes, at: index) }
    }
    try result.get()
  }
}

/// Sixteen bytes.
extension UUID: SQLiteBindable {
  func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try Swift.withUnsafeBytes(of: self.uuid) { (bytes) throws(StorageError) in
      try statement.bind(bytes, at: index)
    }
  }
}

/// Sixteen bytes, big-endian.
extension XXH128: SQLiteBindable {
  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    let bytes = (self.high.bigEndian, self.low.bigEndian)
    try Swift.withUnsafeBytes(of: bytes) { (bytes) throws(StorageError) in
      try statement.bind(bytes, at: index)
    }
  }
}

/// nil is NULL.
extension Optional: SQLiteBindable where Wrapped: SQLiteBindable {
  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    if let self {
      try self.bind(to: statement, at: index)
    } else {
      try statement.bindNull(at: index)
    }
  }
}
