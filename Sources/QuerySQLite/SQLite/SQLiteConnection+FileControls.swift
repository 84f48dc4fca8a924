import CSQLite
package import Query

// MARK: - File controls

extension SQLiteConnection {
  /// Whether the file was renamed or deleted under this connection, so that no other connection
  /// would see its commits. Read before each write transaction.
  ///
  /// - Throws: `StorageError`.
  package var hasMoved: Bool {
    get throws(StorageError) {
      var hasMoved: Int32 = 0
      try self.control(SQLITE_FCNTL_HAS_MOVED, &hasMoved, "ask for the file")
      return hasMoved != 0
    }
  }

  /// Keeps the WAL when the last connection closes, with its allocated disk space.
  ///
  /// - Throws: `StorageError`.
  func keepWAL() throws(StorageError) {
    var isPersistent: Int32 = 1
    try self.control(SQLITE_FCNTL_PERSIST_WAL, &isPersistent, "keep the WAL")
  }

  /// Extends the WAL's file to at least this length, with zeros that no reader takes for commits,
  /// so that a commit of that size has room on a full disk.
  ///
  /// - Throws: `StorageError`, full if there is no room now; the WAL is then unharmed.
  func extendWAL(to bytes: Int) throws {
    // Only the holder of the write lock writes to the WAL.
    try self.write {
      let operation = "extend the WAL"
      var pointer: UnsafeMutablePointer<sqlite3_file>?
      try self.control(SQLITE_FCNTL_JOURNAL_POINTER, &pointer, operation)
      guard let file = pointer, let methods = file.pointee.pMethods?.pointee else { return }
      var size: Int64 = 0
      try self.check(methods.xFileSize?(file, &size) ?? SQLITE_ERROR, operation)
      if size >= bytes { return }
      // Real zeros, since a hole allocates no space. Through SQLite's own descriptor: closing a
      // second one would drop its locks.
      let zeros = [UInt8](repeating: 0, count: 4_096)
      while size < bytes {
        // Bytes: of the WAL, under the write lock, behind its last frame.
        let count = min(zeros.count, bytes - Int(size))
        try self.check(
          methods.xWrite?(file, zeros, Int32(count), size) ?? SQLITE_ERROR, operation)
        size += Int64(count)
      }
      try self.check(methods.xSync?(file, SQLITE_SYNC_NORMAL) ?? SQLITE_ERROR, operation)
    }
  }

  /// How many pages this connection has appended to the WAL since it was opened. Each takes 24
  /// bytes and a page.
  ///
  /// - Throws: `StorageError`.
  var writtenPages: Int {
    get throws(StorageError) {
      let handle = try self.handle(for: "count pages")
      var current: Int32 = 0
      var highest: Int32 = 0
      let result = sqlite3_db_status(
        handle, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 0)
      try self.check(result, "count pages")
      return Int(current)
    }
  }

  /// A number that changes when another connection has committed something.
  ///
  /// - Throws: `StorageError`.
  var dataVersion: Int64 {
    get throws { try self.first("PRAGMA data_version") { try $0.integer(at: 0) } ?? 0 }
  }

  /// A number that changes whenever the content of the file does, by a commit of this connection or
  /// of another one. Commits of others show once a transaction begins.
  ///
  /// - Throws: `StorageError`.
  var contentVersion: Int64 {
    get throws(StorageError) {
      var version: UInt32 = 0
      try self.control(SQLITE_FCNTL_DATA_VERSION, &version, "ask for the version")
      return Int64(version)
    }
  }

  /// Whether SQLite could open the file only for reading, whatever was requested.
  ///
  /// - Throws: `StorageError` after ``close()``.
  var isReadOnly: Bool {
    get throws(StorageError) {
      sqlite3_db_readonly(try self.handle(for: "ask for the file"), "main") != 0
    }
  }

  private func control(
    _ code: Int32,
    _ argument: UnsafeMutableRawPointer,
    _ operation: String
  ) throws(StorageError) {
    let handle = try self.handle(for: operation)
    try self.check(sqlite3_file_control(handle, "main", code, argument), operation)
  }
}

extension SQLiteConnection {
  /// Identifies the file among all that were at its path, as long as it is there itself; nil if it
  /// was moved away.
  ///
  /// - Throws: `StorageError`.
  var fileNumber: FileNumber? {
    get throws(StorageError) {
      guard let number = FileNumber(path: self.path), try !self.hasMoved else { return nil }
      return number
    }
  }
}

extension SQLiteConnection {
  /// Reads the beginning of a database that may be damaged. SQLite opens and closes it, and so keeps
  /// the locks of this process's other connections to it.
  ///
  /// - Returns: At most so many bytes; none if they cannot be read.
  static func beginning(of path: String, count: Int) -> [UInt8] {
    var options = SQLiteConnection.Options()
    options.isReadOnly = true
    options.parameters = ["immutable": "1"]
    guard let connection = try? SQLiteConnection(path: path, options: options) else { return [] }
    defer { try? connection.close() }
    guard let file = try? connection.filePointer(SQLITE_FCNTL_FILE_POINTER, "read"),
      let methods = file.pointee.pMethods?.pointee
    else { return [] }
    var size: Int64 = 0
    guard methods.xFileSize?(file, &size) == SQLITE_OK else { return [] }
    var bytes = [UInt8](repeating: 0, count: min(Int(size), count))
    let result = methods.xRead?(file, &bytes, Int32(bytes.count), 0)
    return result == SQLITE_OK ? bytes : []
  }
}

extension SQLiteConnection {
  /// Runs a pragma, inside a transaction or outside, and does not cache its statement.
  ///
  /// - Returns: The first column of its first row, as text, if it returns one.
  /// - Throws: `StorageError`.
  @discardableResult
  package func pragma(_ sql: SQL) throws(StorageError) -> String? {
    let statement = try SQLiteStatement(sql, connection: self)
    defer { statement.finalise() }
    var answer: String?
    while try statement.step() {
      let text = sqlite3_column_text(statement.handle, 0)
      answer = answer ?? text.map { String(cString: $0) }
    }
    return answer
  }
}
