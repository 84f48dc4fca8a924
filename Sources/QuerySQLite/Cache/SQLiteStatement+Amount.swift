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

  /// When the value of a row was last invalidated: see ``EntryRow/invalidatedAt``.
  ///
  /// - Throws: `StorageError` (mismatch) if it is an impossible time.
  package func lastInvalidation(at index: Int32) throws(StorageError) -> LastInvalidation {
    // What a damaged file says may have no opposite.
    let microseconds = try self.integer(at: index)
    if microseconds < 0, microseconds >= -(1 << 60) {
      return LastInvalidation(microseconds: microseconds)
    }
    return LastInvalidation(microseconds: try self.amount(at: index))
  }
}
