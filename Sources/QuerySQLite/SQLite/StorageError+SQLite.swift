import CSQLite
import Query

extension StorageError {
  /// A connection's error, right after the call that failed.
  package init(
    operation: String,
    result: Int32,
    handle: OpaquePointer?,
    fileName: String?,
    sql: String? = nil,
    expandedSQL: String? = nil
  ) {
    // A cleanup may have used the connection since; then its message is about that.
    let isLatest = handle.map { sqlite3_extended_errcode($0) == result } ?? false
    let text = isLatest ? sqlite3_errmsg(handle) : sqlite3_errstr(result)
    // SQLite reports corruption if a disk read fails. The file is sound, and may be readable again.
    let isDiskFailure =
      result & 0xff == SQLITE_CORRUPT && handle.map { csqlite_disk_has_failed($0) != 0 } ?? false
    if isDiskFailure {
      self.init(
        operation: operation, code: .diskFailedToRead, message: "the disk failed to read",
        sql: sql, expandedSQL: expandedSQL, fileName: fileName)
      return
    }
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

extension StorageError.Code {
  /// `SQLITE_IOERR_CORRUPTFS`: the disk failed to read.
  static let diskFailedToRead = Self(rawValue: 8_458)

  /// `SQLITE_IOERR_SHMSIZE`: the disk has no room for the shm, without which no WAL is read.
  static let noRoomForSharedMemory = Self(rawValue: 4_874)
}
