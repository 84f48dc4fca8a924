import CFileRecorder
import CSQLite
import Foundation

/// What a disk does to a file that nobody has open.
enum Damage {
  /// Overwrites the page that a table begins with, for good, and empties the log, in which it may be too.
  static func overwrite(_ table: String, of path: String) throws {
    let page = try self.rootPage(of: table, in: path)
    let log = open("\(path)-wal", O_RDWR | O_CLOEXEC)
    if log >= 0 {
      ftruncate(log, 0)
      fsync(log)
      close(log)
    }
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw CocoaError(.fileNoSuchFile) }
    defer { close(descriptor) }
    let bytes = [UInt8](repeating: 0xa5, count: 4_096)
    pwrite(descriptor, bytes, bytes.count, off_t(page - 1) * 4_096)
    fsync(descriptor)
    try self.synchroniseFolder(of: path)
  }

  /// Makes the names durable, too: a log that SQLite deleted would be back after a power cut, with the
  /// sound page in it.
  private static func synchroniseFolder(of path: String) throws {
    let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY)
    guard folder >= 0 else { throw CocoaError(.fileNoSuchFile) }
    fsync(folder)
    close(folder)
  }

  private static func rootPage(of table: String, in path: String) throws -> Int {
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"
    guard sqlite3_open(path, &database) == SQLITE_OK,
      sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK,
      sqlite3_step(statement) == SQLITE_ROW
    else { throw CocoaError(.fileReadCorruptFile) }
    return Int(sqlite3_column_int64(statement, 0))
  }
}
