import CSQLite
import FoundationEssentials
import Glibc
import Query
import QuerySQLite

/// A connection of an ``InspectionFile``, opened in one of three ways, depending on the state of
/// the files.
final class InspectionSession {
  /// How a file is read.
  enum Access: String, Sendable {
    /// With the existing shm: of an application that has the file open, or that was killed.
    case shared
    /// The file alone: no process has it open, and its WAL is empty.
    case immutable
    /// A copy of the file and its WAL: no process has it open, and its WAL is not checkpointed yet.
    case copy
  }

  /// How the file is read.
  let access: Access

  /// A connection that cannot write.
  let connection: SQLiteConnection

  /// Whether SQLite's own locks protect the state that is being read.
  private var isProtected = false

  private let path: String
  private let state: FileState
  /// The folder of the copy; removed with the session.
  private let copy: PrivateFolder?

  /// Opens a file.
  ///
  /// - Throws: `OpeningFailure`; `StorageError` if it cannot be copied; busy if it was changed
  ///   while it was opened.
  init(kind: DatabaseKind, folder: String) throws {
    self.path = "\(folder)/\(kind.fileName)"
    (self.state, self.access) = try Self.settledState(of: self.path)
    var opener = DatabaseOpener(kind: kind, folder: folder)
    opener.options.checkpointsOnClose = false
    opener.options.statementCapacity = 32
    opener.options.busyTimeout = .seconds(1)
    switch self.access {
    case .shared:
      opener.options.isReadOnly = true
      opener.options.parameters = ["mode": "ro", "readonly_shm": "1"]
      self.copy = nil
    case .immutable:
      opener.options.isReadOnly = true
      opener.options.parameters = ["immutable": "1"]
      self.copy = nil
    case .copy:
      let copy = try PrivateFolder()
      for suffix in ["", "-wal"] {
        try copy.add(self.path + suffix, as: kind.fileName + suffix)
      }
      guard FileState(of: self.path) == self.state else { throw Self.changed(kind) }
      opener = DatabaseOpener(kind: kind, folder: copy.path)
      opener.options.checkpointsOnClose = false
      self.copy = copy
    }
    do {
      self.connection = try opener.openReader()
      try Self.requireLevel(self.connection, kind)
    } catch {
      // A file that changes while it is read may look damaged.
      if self.access == .immutable, FileState(of: self.path) != self.state {
        throw Self.changed(kind)
      }
      throw Self.isWrite(error) ? Self.level(0, kind) : error
    }
  }

  /// Whether the file has an older level, which cannot be migrated here.
  private static func isWrite(_ error: any Error) -> Bool {
    (error as? OpeningFailure)?.error.extendedCode == .readOnly
  }

  deinit { try? self.connection.close() }

  /// Examines the files until they have been left alone for a moment, if that matters.
  private static func settledState(of path: String) throws -> (FileState, Access) {
    while true {
      let state = FileState(of: path)
      let hasSharedMemory = FileNumber(path: "\(path)-shm") != nil
      if hasSharedMemory && state.logSize != nil { return (state, .shared) }
      let left = state.unsettledTime
      if left == .zero { return (state, (state.logSize ?? 0) == 0 ? .immutable : .copy) }
      usleep(UInt32(left / .microseconds(1)) + 1)
    }
  }

  private static func changed(_ kind: DatabaseKind) -> StorageError {
    StorageError(
      operation: "open", code: .busy, message: "the file was changed while it was opened",
      fileName: kind.fileName)
  }

  /// Only its application migrates the file of an older release to this level.
  private static func requireLevel(_ connection: SQLiteConnection, _ kind: DatabaseKind) throws {
    let level = try connection.first("PRAGMA user_version") { try $0.integer(at: 0) } ?? 0
    if level != kind.migrations.count { throw Self.level(level, kind) }
  }

  private static func level(_ level: Int64, _ kind: DatabaseKind) -> OpeningFailure {
    OpeningFailure(
      .corrupt,
      StorageError(
        operation: "open", code: .corrupt,
        message: "its schema has level \(level), not \(kind.migrations.count)",
        fileName: kind.fileName))
  }
}

// MARK: - Protection

extension InspectionSession {
  /// Checks, before a read, whether the session may continue with the file that is at the path now.
  ///
  /// - Throws: `StorageError`.
  func isCurrent() throws(StorageError) -> Bool {
    switch self.access {
    case .shared:
      if try self.connection.hasMoved { return false }
      self.isProtected = try self.connection.hasLiveSharedMemory
      return self.isProtected || FileState(of: self.path) == self.state
    // If an application has opened it meanwhile, use its shm.
    case .immutable, .copy:
      return FileState(of: self.path) == self.state
        && FileNumber(path: "\(self.path)-shm") == nil
    }
  }

  /// Whether everything read since ``isCurrent()`` belongs to one state.
  var isWhole: Bool {
    // A copy does not change.
    if self.isProtected || self.access == .copy { return true }
    return FileState(of: self.path) == self.state && self.state.unsettledTime == .zero
  }
}

extension SQLiteConnection {
  /// Whether an application has the file open, whose shm this connection uses: then SQLite's own
  /// shared locks protect the state that is read. If the process that made the shm was killed,
  /// SQLite reads the WAL by itself, and the next process to open the file may overwrite it.
  ///
  /// Determined in SQLite's own way, by mapping the shm. Once true it stays true, since this
  /// connection counts as one that has the file open.
  ///
  /// - Throws: `StorageError` after ``close()``.
  fileprivate var hasLiveSharedMemory: Bool {
    get throws(StorageError) {
      try self.walIndex != nil
    }
  }
}
