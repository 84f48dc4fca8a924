package import Query

extension SQLiteStatement {
  /// A number that counts something. A negative number, or one so large that adding to it could
  /// overflow, comes from a damaged file.
  ///
  /// - Throws: `StorageError` (mismatch).
  package func amount(at index: Int32) throws(StorageError) -> Int64 {
    let number = try self.integer(at: index)
    if (0...(1 << 60)).contains(number) { return number }
    throw StorageError(
      operation: "read column", code: .mismatch, message: "column \(index) has an impossible count",
      sql: self.sql, fileName: DatabaseKind.cache.fileName)
  }
}
