import CSQLite
import FoundationEssentials
package import Query

/// A connection to one database file, with SQLite's strictest settings.
///
/// It is not `Sendable`: its owner passes it to closures that run one at a time.
/// ```swift
/// let connection = try SQLiteConnection(path: "/home/a/.cache/notes/cache.sqlite")
/// try connection.write { try connection.execute("DELETE FROM pages WHERE entry = ?", 3) }
/// try connection.close()
/// ```
/// It opens existing files and makes none: ``DatabaseOpener`` does.
package final class SQLiteConnection {
  /// The path of the file.
  let path: String

  /// How it was opened.
  let options: Options

  let busyHandler: BusyHandler
  let statements: StatementCache

  /// The transaction that the connection is in, for the rules of ``write(_:)`` and ``read(_:)``.
  var transaction = Transaction.none

  /// How many frames the WAL has, as of this connection's last commit or checkpoint: by it the
  /// writer decides when the next checkpoint is due.
  var walFrames = 0

  /// Whether ``linkLog()`` writes: once the file has the table for it.
  var linksLogs = false

  /// Whether this transaction has written the link.
  var hasLinkedLog = false

  /// How many bytes this connection's checkpoints keep free behind the last page, so that the next
  /// frames of the WAL can be copied although the disk is full.
  var reservedBytes = 0

  /// How much of its usual time a step of long work may take: less on a slow disk, or the checkpoint of what
  /// it wrote would keep writers out for too long.
  var stepShare = 1.0

  /// How long it has kept other connections from writing.
  var writeHolds = WriteHolds()

  /// Whether no other process of this library can be waiting for the write lock. Asked after long
  /// transactions.
  var isAlone: () -> Bool = { false }

  /// Where the frames of a commit are gathered.
  let frames = FrameBuffer()

  private var openHandle: OpaquePointer?

  /// Opens a file that exists.
  ///
  /// - Parameters:
  ///   - path: The absolute path of the file.
  ///   - options: How to open it.
  /// - Throws: `StorageError`. No handle is left behind.
  package init(path: String, options: Options = Options()) throws(StorageError) {
    precondition(path.hasPrefix("/"), "a database has an absolute path, not \(path)")
    self.path = path
    self.options = options
    self.busyHandler = BusyHandler(patience: .limited(options.busyTimeout))
    self.statements = StatementCache(capacity: options.statementCapacity)
    var handle: OpaquePointer?
    let result = sqlite3_open_v2(options.name(of: path), &handle, options.flags, options.vfs)
    guard result == SQLITE_OK, let handle else {
      let error = StorageError(
        operation: "open", result: result, handle: handle, fileName: Self.fileName(of: path))
      // There may be a handle even if opening failed.
      sqlite3_close_v2(handle)
      throw error
    }
    self.openHandle = handle
    self.busyHandler.install(on: handle)
    self.configure(handle)
  }

  deinit {
    guard let openHandle else { return }
    self.statements.removeAll()
    sqlite3_close_v2(openHandle)
  }

  private func configure(_ handle: OpaquePointer) {
    sqlite3_extended_result_codes(handle, 1)
    // No SQL can damage the file's structure, call functions that the schema names, or mistake a
    // misspelled column for a string.
    _ = csqlite_configure(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
    _ = csqlite_configure(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    // The library's schemas have no trigger or view: one in the file was added by something else,
    // and does not run.
    _ = csqlite_configure(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    _ = csqlite_configure(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    _ = csqlite_configure(handle, SQLITE_DBCONFIG_DQS_DML, 0)
    _ = csqlite_configure(handle, SQLITE_DBCONFIG_DQS_DDL, 0)
    _ = csqlite_configure(handle, SQLITE_DBCONFIG_ENABLE_FKEY, self.options.keepsReferences ? 1 : 0)
    if !self.options.checkpointsOnClose {
      _ = csqlite_configure(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    }
    // Passive checkpoints beside other processes lose commits before SQLite 3.51.3, and the
    // automatic one is passive. Setting it removes the hook, so it comes first.
    sqlite3_wal_autocheckpoint(handle, 0)
    sqlite3_wal_hook(
      handle,
      { context, _, _, frames in
        guard let context else { return SQLITE_OK }
        Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().walFrames =
          Int(frames)
        return SQLITE_OK
      },
      Unmanaged.passUnretained(self).toOpaque()
    )
  }
}

// MARK: - Handle

extension SQLiteConnection {
  /// The name of the file without its folder, for errors.
  package var fileName: String { Self.fileName(of: self.path) }

  private static func fileName(of path: String) -> String {
    String(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...])
  }

  /// Whether the connection was closed.
  var isClosed: Bool { self.openHandle == nil }

  /// The handle for SQLite's functions.
  ///
  /// - Throws: `StorageError` (misuse) after ``close()``.
  package func handle(for operation: String) throws(StorageError) -> OpaquePointer {
    if let openHandle { return openHandle }
    throw StorageError(
      operation: operation, code: .misuse, message: "the connection is closed",
      fileName: self.fileName)
  }

  /// Throws if a call did not return `SQLITE_OK`.
  package func check(_ result: Int32, _ operation: String, sql: String? = nil) throws(StorageError)
  {
    if result == SQLITE_OK { return }
    throw StorageError(
      operation: operation, result: result, handle: self.openHandle, fileName: self.fileName,
      sql: sql)
  }
}

// MARK: - Closing

extension SQLiteConnection {
  /// Finalises the statements and closes the connection. A second call does nothing.
  ///
  /// - Throws: `StorageError` (busy) that names the statements still in use; the connection then
  ///   stays open, and may be closed later.
  package func close() throws(StorageError) {
    guard let openHandle else { return }
    self.statements.removeAll()
    let result = sqlite3_close(openHandle)
    guard result == SQLITE_OK else {
      var left = [String]()
      var statement = sqlite3_next_stmt(openHandle, nil)
      while let current = statement {
        left.append(sqlite3_sql(current).map { String(cString: $0) } ?? "?")
        statement = sqlite3_next_stmt(openHandle, current)
      }
      throw StorageError(
        operation: "close", code: StorageError.Code(rawValue: result),
        message: "\(left.count) statements are in use", sql: left.joined(separator: "; "),
        fileName: self.fileName)
    }
    self.openHandle = nil
  }
}
