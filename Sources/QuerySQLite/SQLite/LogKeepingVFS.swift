import CSQLite
import Glibc

/// SQLite's default VFS, except that it removes no WAL beside an empty database file.
///
/// SQLite takes an empty file for a new database, and removes the WAL that it finds beside it. Whoever
/// emptied the outbox has left the WAL, which holds the mutations that were committed since the last
/// checkpoint. Before a file is opened that is looked for; this is for the file that is emptied while
/// SQLite opens it.
enum LogKeepingVFS {
  /// The name under which SQLite knows it; nil if SQLite has no VFS at all.
  static let name: String? = {
    guard let base = sqlite3_vfs_find(nil) else { return nil }
    // For as long as the process runs, as SQLite asks of a VFS.
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: base.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(strdup("offline-query"))
    vfs.pointee.xDelete = { vfs, path, syncsFolder in
      guard let path, let removeFile = LogKeepingVFS.removeFile else { return SQLITE_IOERR }
      if LogKeepingVFS.isLogOfEmptiedFile(String(cString: path)) { return SQLITE_CORRUPT }
      return removeFile(vfs, path, syncsFolder)
    }
    guard sqlite3_vfs_register(vfs, 0) == SQLITE_OK else { return nil }
    return String(cString: vfs.pointee.zName)
  }()

  private static let removeFile = sqlite3_vfs_find(nil)?.pointee.xDelete

  private static func isLogOfEmptiedFile(_ path: String) -> Bool {
    guard path.hasSuffix("-wal"),
      DatabaseFiles().size(of: String(path.dropLast("-wal".count))) == 0
    else { return false }
    return (try? DatabaseFiles.logMayHaveFrames(path)) ?? true
  }
}
