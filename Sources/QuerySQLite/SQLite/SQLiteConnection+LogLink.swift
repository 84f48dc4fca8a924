import CSQLite
import Query

// MARK: - Which WAL follows the file

extension SQLiteConnection {
  private static let link: SQL = "UPDATE log_link SET previous = current, current = randomblob(16)"

  /// Writes which WAL the one is that this transaction's commit begins, if it begins one. A second
  /// call in a transaction does nothing, nor does one before ``linksLogs``. ``LogLink`` reads it.
  ///
  /// - Throws: `StorageError`.
  func linkLog() throws {
    guard self.linksLogs, !self.hasLinkedLog, try self.beginsLog else { return }
    try self.execute(Self.link)
    self.hasLinkedLog = true
  }

  /// Whether all of the WAL is in the database, so that the commit of this write transaction begins
  /// the WAL anew, unless a reader is in the way.
  private var beginsLog: Bool {
    get throws(StorageError) {
      guard let index = try self.walIndex else { return false }
      // The fields `mxFrame` and `nBackfill`: https://sqlite.org/walformat.html, 2.1. Only the
      // holder of the write lock changes the first, and the second only grows towards it.
      return index.load(fromByteOffset: 16, as: UInt32.self)
        == index.load(fromByteOffset: 96, as: UInt32.self)
    }
  }
}

extension SQLiteConnection {
  /// The size of a region of the shm: 32 KiB.
  static let shmRegionSize = 32_768

  /// The first region of the shm; nil if there is none that SQLite would use. It stays mapped as
  /// long as the connection is open. Once it is mapped, this connection counts as one that has the
  /// file open.
  ///
  /// - Throws: `StorageError` after ``close()``.
  package var walIndex: UnsafeRawPointer? {
    get throws(StorageError) {
      guard let file = try self.filePointer(SQLITE_FCNTL_FILE_POINTER, "map the shm"),
        let methods = file.pointee.pMethods?.pointee, methods.iVersion >= 2
      else { return nil }
      var region: UnsafeMutableRawPointer?
      let size = Int32(Self.shmRegionSize)
      let result = methods.xShmMap?(file, 0, size, 0, &region) ?? SQLITE_ERROR
      // Read-only: another process has it open, and this one may not write to it.
      guard result == SQLITE_OK || result == SQLITE_READONLY else { return nil }
      return region.map { UnsafeRawPointer($0) }
    }
  }
}
