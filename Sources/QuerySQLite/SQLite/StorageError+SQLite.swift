import CSQLite
import Query

extension StorageError {
  /// An error in the words of a connection, right after the call that failed.
  init(
    operation: String,
    result: Int32,
    handle: OpaquePointer?,
    fileName: String?,
    sql: String? = nil,
    expandedSQL: String? = nil
  ) {
    // The connection may have been used since, for cleaning up; then its message is of that.
    let isLatest = handle.map { sqlite3_extended_errcode($0) == result } ?? false
    let text = isLatest ? sqlite3_errmsg(handle) : sqlite3_errstr(result)
    self.init(
      operation: operation,
      code: Code(rawValue: result),
      message: text.map { String(cString: $0) } ?? "unknown error",
      sql: sql,
      expandedSQL: expandedSQL,
      fileName: fileName
    )
  }
}
