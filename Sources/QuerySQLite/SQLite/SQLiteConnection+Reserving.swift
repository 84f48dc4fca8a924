import CSQLite
import Query

// MARK: - Room in the file

extension SQLiteConnection {
  /// What the file's length is rounded up to while room is reserved.
  private static let chunkBytes: Int32 = 512 << 10

  /// Makes the file long enough for so many bytes beyond what it holds, and keeps checkpoints from
  /// taking all of that back: what the WAL has can then be copied although the disk is full.
  ///
  /// - Throws: `StorageError`, full where there is no room now; the file is as good as before.
  func reserveRoom(for bytes: Int) throws {
    let pages = try self.first("PRAGMA page_count") { try $0.integer(at: 0) } ?? 0
    let pageSize = try self.first("PRAGMA page_size") { try $0.integer(at: 0) } ?? 0
    var chunk = Self.chunkBytes
    try self.ask(SQLITE_FCNTL_CHUNK_SIZE, &chunk)
    var size = pages * pageSize + Int64(bytes)
    try self.ask(SQLITE_FCNTL_SIZE_HINT, &size)
  }

  /// Lets checkpoints make the file as short as what it holds, so that nothing stands behind that.
  ///
  /// - Throws: `StorageError`.
  func giveUpRoom() throws {
    // SQLite takes 0 for "as before".
    var chunk: Int32 = 1
    try self.ask(SQLITE_FCNTL_CHUNK_SIZE, &chunk)
  }

  private func ask(_ code: Int32, _ argument: UnsafeMutableRawPointer) throws(StorageError) {
    let operation = "reserve room"
    let handle = try self.handle(for: operation)
    let result = sqlite3_file_control(handle, "main", code, argument)
    // A VFS that cannot do it need not.
    if result != SQLITE_NOTFOUND { try self.check(result, operation) }
  }
}
