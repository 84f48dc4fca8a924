import CSQLite
import Query

// MARK: - Room in the file

extension SQLiteConnection {
  /// Whether the file has room behind its last page for so many bytes, including those of the WAL's
  /// pages. Outside transactions.
  ///
  /// - Throws: `StorageError`.
  func hasRoom(for bytes: Int) throws -> Bool {
    let pages = try self.first("PRAGMA page_count") { try $0.integer(at: 0) } ?? 0
    let pageSize = try self.first("PRAGMA page_size") { try $0.integer(at: 0) } ?? 0
    guard let file = try self.filePointer(SQLITE_FCNTL_FILE_POINTER, "ask for the file's length")
    else { return true }
    var length: Int64 = 0
    let result = file.pointee.pMethods.pointee.xFileSize?(file, &length) ?? SQLITE_ERROR
    try self.check(result, "ask for the file's length")
    return length >= pages * pageSize + Int64(bytes)
  }
}

// MARK: - The WAL

extension SQLiteConnection {
  /// Whether the WAL's file begins without a header, so that no process takes anything in it for a
  /// commit. Another process may write one meanwhile.
  ///
  /// - Throws: `StorageError`.
  var isWALEmpty: Bool {
    get throws(StorageError) {
      let operation = "read the WAL's header"
      guard let wal = try self.filePointer(SQLITE_FCNTL_JOURNAL_POINTER, operation) else {
        return true
      }
      var header = [UInt8](repeating: 0, count: 32)
      let result = wal.pointee.pMethods.pointee.xRead?(wal, &header, 32, 0) ?? SQLITE_ERROR
      if result == Self.shortRead { return true }
      try self.check(result, operation)
      return header.allSatisfy { $0 == 0 }
    }
  }

  /// `SQLITE_IOERR_SHORT_READ`: the file is shorter.
  private static let shortRead: Int32 = 522

  /// Syncs the database's file or its WAL. It takes no lock and changes no byte, so no connection
  /// waits for it.
  ///
  /// - Parameters:
  ///   - code: `SQLITE_FCNTL_FILE_POINTER` or `SQLITE_FCNTL_JOURNAL_POINTER`.
  ///   - operation: The operation that needs it, for errors.
  /// - Throws: `StorageError`.
  func synchronise(_ code: Int32, _ operation: String) throws(StorageError) {
    guard let file = try self.filePointer(code, operation) else { return }
    try self.check(
      file.pointee.pMethods.pointee.xSync?(file, SQLITE_SYNC_NORMAL) ?? SQLITE_ERROR, operation)
  }

  /// A file of SQLite's own; nil if it is not open.
  func filePointer(
    _ code: Int32, _ operation: String
  ) throws(StorageError) -> UnsafeMutablePointer<sqlite3_file>? {
    var pointer: UnsafeMutablePointer<sqlite3_file>?
    let handle = try self.handle(for: operation)
    try self.check(sqlite3_file_control(handle, "main", code, &pointer), operation)
    return pointer?.pointee.pMethods == nil ? nil : pointer
  }
}
