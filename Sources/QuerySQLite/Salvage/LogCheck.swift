import FoundationEssentials
import Glibc
import Migrations
import Query

/// Checks whether SQLite would read the WAL of a database to its end, and whether it is that
/// database's.
///
/// The holder of the file's exclusive lock opens the WAL by hand, and the database through SQLite: a
/// connection that another program has in this process keeps its locks.
enum LogCheck {
  /// What is wrong with the WAL of a database; nil if it is as good as SQLite says.
  ///
  /// - Parameters:
  ///   - path: The path of the database.
  ///   - isEmpty: Whether the file has no byte. Then SQLite removes its WAL.
  ///   - migrations: The migrations that made the database.
  /// - Throws: `OpeningFailure`, `StorageError`.
  static func damage(
    of path: String, isEmpty: Bool, _ migrations: [Migration]
  ) throws -> StorageError? {
    guard let image = try Self.image(of: path) else { return nil }
    let log = image.log
    if isEmpty, log.frames.contains(where: { $0.page > 0 }) {
      return StorageError(
        operation: "open", code: .corrupt, message: "the file is empty, and its log is not",
        fileName: DatabaseKind.mutations.fileName)
    }
    if image.hasForeignLog(try SalvageLayout(migrations)) { return Self.foreign(.mutations) }
    guard log.isDamaged else { return nil }
    let count = log.committedCount - log.validCount
    return StorageError(
      operation: "open", code: .corrupt,
      message: "\(count) frames of its log stand behind one that is damaged",
      fileName: DatabaseKind.mutations.fileName)
  }

  /// An error if the WAL beside a cache does not follow the file; nil if it does.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  static func foreignLog(
    ofCache path: String, _ migrations: [Migration]
  ) throws -> StorageError? {
    guard let image = try Self.image(of: path) else { return nil }
    let layout = try SalvageLayout(migrations, of: .cache)
    return image.hasForeignLog(layout) ? Self.foreign(.cache) : nil
  }

  /// The WAL of a database, and the beginning of the database itself, which has the pages that this
  /// looks at; nil if there is no WAL.
  private static func image(of path: String) throws(StorageError) -> DatabaseImage? {
    guard let log = try FileBytes.read("\(path)-wal")?.bytes else { return nil }
    return DatabaseImage(file: SQLiteConnection.beginning(of: path, count: 1 << 20), log: log)
  }

  private static func foreign(_ kind: DatabaseKind) -> StorageError {
    StorageError(
      operation: "open", code: .corrupt,
      message: "the log beside the file belongs to another file, or to another state of this one",
      fileName: kind.fileName)
  }
}

extension DatabaseOpener {
  /// Opens a connection that writes, for a tool: it replaces no file, and so refuses one whose WAL SQLite
  /// would cut short or take for the file's own, unless an application has checked it and has it open.
  ///
  /// - Parameter lock: The lock of the file, held shared.
  /// - Throws: `OpeningFailure`, `StorageError`.
  package func openCheckedWriter(_ lock: FileLock) throws -> SQLiteConnection {
    if try !lock.isCheckedByOthers && DatabaseFiles.logMayHaveFrames("\(self.path)-wal"),
      let damage = try self.damageOfLog()
    {
      throw StorageError(
        operation: damage.operation, code: damage.extendedCode,
        message: "\(damage.message); start the application once, which keeps what can be read",
        fileName: damage.fileName)
    }
    return try self.openWriter()
  }

  private func damageOfLog() throws -> StorageError? {
    switch self.kind {
    case .cache: try LogCheck.foreignLog(ofCache: self.path, self.migrations)
    case .mutations:
      try LogCheck.damage(of: self.path, isEmpty: self.fileSize == 0, self.migrations)
    }
  }
}
