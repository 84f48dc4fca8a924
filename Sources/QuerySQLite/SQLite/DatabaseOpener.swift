import CSQLite
import FoundationEssentials
import Glibc
import Migrations
import Query

/// Opens a database file: makes a missing one, refuses another program's, and migrates it to the
/// level of this release.
///
/// ```swift
/// let opener = DatabaseOpener(kind: .cache, folder: "/home/a/.cache/notes")
/// let writer = try opener.openWriter()
/// let reader = try opener.openReader()
/// ```
package struct DatabaseOpener: Sendable {
  /// When a commit reaches the disk.
  enum Durability: Sendable {
    /// With the next checkpoint: a power cut loses the commits since the last one.
    case normal
    /// Before the commit returns.
    case full
  }

  /// Which file.
  let kind: DatabaseKind

  /// The absolute path of its folder.
  let folder: String

  /// When a commit reaches the disk.
  var durability: Durability

  /// How the connections are opened.
  package var options = SQLiteConnection.Options()

  /// How long opening waits for locks in all.
  var patience = Duration.seconds(1)

  /// Makes the files.
  package var files = DatabaseFiles()

  /// The migrations of the schema.
  var migrations: [Migration]

  /// The length of the file; nil if there is none.
  var fileSize: Int? { self.files.size(of: self.path) }

  /// The path of the file.
  var path: String { "\(self.folder)/\(self.kind.fileName)" }

  package init(kind: DatabaseKind, folder: String) {
    self.kind = kind
    self.folder = folder
    self.durability = kind == .cache ? .normal : .full
    self.migrations = kind.migrations
    if kind == .mutations { self.options.vfs = LogKeepingVFS.name }
  }
}

// MARK: - Opening

extension DatabaseOpener {
  /// Opens the connection that writes, before any other of the process.
  ///
  /// - Throws: `OpeningFailure`. No handle is left behind, and another program's file is left as it
  ///   was.
  package func openWriter() throws(OpeningFailure) -> SQLiteConnection {
    let end = SuspendingClock.now + self.patience
    return try self.asOpeningFailure {
      try self.files.refuseLongPath(self.path)
      try self.refuseLinkedOutbox()
      try self.files.makeFolder(self.folder)
      try self.files.refuseNetworkFileSystem(self.folder)
      try self.files.makeFile(self.path)
      try self.files.refuseNetworkFileSystem(self.path)
      try self.refuseForeignFile(until: end)
      try self.requirePermission()
      return try self.closingOnError(try self.connect(until: end)) { connection in
        // There may be another file at the path by now.
        let isNew = try self.isBlank(connection)
        try self.requireWritable(connection)
        // Before anything that writes: after `journal_mode` it is silently ignored.
        if isNew && self.kind.shrinks { try connection.pragma("PRAGMA auto_vacuum = 2") }
        try self.switchToWAL(connection, until: end)
        try self.configure(connection)
        // In KiB. The index by which entries are found takes some 4 MB for 100 000 entries, and
        // stays in memory while their rows pass through.
        if self.kind == .cache { try connection.pragma("PRAGMA cache_size = -5120") }
        if isNew && self.kind.shrinks { try self.requireAutoVacuum(connection) }
        try Migrator(connection: connection, migrations: self.migrations).migrate()
        connection.linksLogs = true
        if self.kind == .mutations {
          try self.requireNoAutoVacuum(connection)
          try connection.keepWAL()
        }
      }
    }
  }

  /// Opens a connection that reads a file that ``openWriter()`` has opened.
  ///
  /// - Parameter acceptsNewer: Whether a file of a newer release may be read.
  /// - Throws: `OpeningFailure`.
  package func openReader(acceptsNewer: Bool = false) throws(OpeningFailure) -> SQLiteConnection {
    let end = SuspendingClock.now + self.patience
    return try self.asOpeningFailure {
      var opener = self
      opener.options.checkpointsOnClose = false
      return try self.closingOnError(try opener.connect(until: end)) { connection in
        // Another process may be creating it just now.
        var round: Int32 = 0
        while try self.isBlank(connection) {
          try self.refuseShortFile()
          guard SuspendingClock.now < end else { throw Self.blank(self.kind) }
          LockWait.sleep(round: round)
          round += 1
        }
        try self.configure(connection)
        try connection.pragma("PRAGMA query_only = 1")
        do throws(OpeningFailure) {
          try Migrator(connection: connection, migrations: self.migrations).migrate()
        } catch {
          guard acceptsNewer, case .newer = error.kind else { throw error }
        }
      }
    }
  }

  /// Whether the file is damaged: another connection checks all of its pages.
  ///
  /// - Throws: `OpeningFailure` if it cannot be checked now.
  func findsDamage() throws(OpeningFailure) -> Bool {
    do {
      let connection = try self.openWriter()
      return try self.asOpeningFailure {
        defer { try? connection.close() }
        return try connection.pragma("PRAGMA quick_check(1)") != "ok"
      }
    } catch {
      guard error.kind == .corrupt else { throw error }
      return true
    }
  }

  /// An opener of a file that can be read, but not written, and beside which nothing can be made,
  /// as on read-only media; nil if its state cannot be read that way.
  var forReadingAlone: DatabaseOpener? {
    var opener = self
    opener.options.isReadOnly = true
    opener.options.checkpointsOnClose = false
    let logSize = self.files.size(of: "\(self.path)-wal")
    // A shorter one is one that SQLite could not extend on a full disk.
    let shmSize = self.files.size(of: "\(self.path)-shm") ?? 0
    if logSize != nil, shmSize >= SQLiteConnection.shmRegionSize {
      opener.options.parameters = ["mode": "ro", "readonly_shm": "1"]
    } else if (logSize ?? 0) == 0 {
      // No process has it open: there would be an shm.
      opener.options.parameters = ["immutable": "1"]
    } else {
      return nil
    }
    return opener
  }

  private func connect(
    until end: SuspendingClock.Instant
  ) throws(StorageError) -> SQLiteConnection {
    try self.files.requireRegularFiles(self.path)
    let connection = try SQLiteConnection(path: self.path, options: self.options)
    connection.busyHandler.patience = .until(end)
    return connection
  }

  private func closingOnError(
    _ connection: SQLiteConnection,
    _ body: (SQLiteConnection) throws -> Void
  ) throws -> SQLiteConnection {
    do {
      try body(connection)
    } catch {
      // The first error counts.
      try? connection.close()
      throw error
    }
    connection.busyHandler.patience = .limited(self.options.busyTimeout)
    return connection
  }

  private func asOpeningFailure<R>(_ body: () throws -> R) throws(OpeningFailure) -> R {
    do {
      return try body()
    } catch let failure as OpeningFailure {
      throw failure
    } catch let error as StorageError {
      throw OpeningFailure(error)
    } catch {
      throw OpeningFailure(StorageError(operation: "open", code: .error, message: "\(error)"))
    }
  }
}

// MARK: - Ownership

extension DatabaseOpener {
  /// Checks whether the folder and the file, if there is one, are such that the user must mend it:
  /// on a network file system, or another program's. Makes nothing. Other faults are found when the
  /// file is opened.
  ///
  /// - Throws: `StorageError`.
  func refuseWhatIsNotOurs() throws(StorageError) {
    do {
      try self.files.refuseLongPath(self.path)
      try self.refuseLinkedOutbox()
      try self.files.refuseNetworkFileSystem(self.folder)
      try self.refuseForeignFile(until: .now + self.patience)
    } catch let failure as OpeningFailure where failure.kind == .refused {
      throw failure.error
    } catch {}
  }

  /// Refuses mutations in a file that a link leads to: its WAL is beside the target, where it is neither
  /// checked nor salvaged if it is damaged.
  ///
  /// - Throws: `OpeningFailure` (refused).
  private func refuseLinkedOutbox() throws(OpeningFailure) {
    guard self.kind == .mutations, FilePath.isLink(self.path) else { return }
    // A device, say, is refused as one that stands in the file's place.
    var target = stat()
    if stat(self.path, &target) == 0, RegularFile.otherKind(target) != nil { return }
    throw OpeningFailure(
      .refused,
      StorageError(
        operation: "open", code: .cannotOpen,
        message: "the file is a link, and mutations are kept only in a file; link its folder",
        fileName: self.kind.fileName))
  }

  /// Checks a file through a connection that cannot write: on another program's file, it must
  /// neither recover nor checkpoint.
  private func refuseForeignFile(until end: SuspendingClock.Instant) throws {
    guard let size = self.files.size(of: self.path), size > 0 else { return }
    try self.refuseShortFile()
    if self.isOursAtRest { return }
    var opener = self
    if access(self.path, W_OK) == 0 {
      opener.options.isReadOnly = true
      opener.options.checkpointsOnClose = false
    } else if let forReadingAlone {
      opener = forReadingAlone
    } else {
      return
    }
    do {
      let probe = try opener.connect(until: end)
      defer { try? probe.close() }
      _ = try self.isBlank(probe)
    } catch let error as StorageError {
      switch error.code {
      // A killed program's journal must be rolled back first, or a connection that only reads
      // cannot make the shm: the next connection tells whose file it is.
      case .readOnly, .cannotOpen: return
      default: throw error
      }
    }
  }

  /// Whether the file is this library's, and no process has it open: then it can be read without the
  /// WAL and the shm that any other connection makes, and the last one removes. False wherever there
  /// is a doubt.
  private var isOursAtRest: Bool {
    let companions = ["-wal", "-shm", "-journal"]
    guard companions.allSatisfy({ self.files.size(of: self.path + $0) == nil }) else {
      return false
    }
    var opener = self
    opener.options.isReadOnly = true
    opener.options.checkpointsOnClose = false
    opener.options.parameters = ["immutable": "1"]
    guard let probe = try? opener.connect(until: .now) else { return false }
    defer { try? probe.close() }
    // A process that has opened it since may have changed it meanwhile.
    return (try? self.isBlank(probe)) == false
  }

  /// SQLite takes a file of a few bytes for an empty database and overwrites it.
  private func refuseShortFile() throws(StorageError) {
    guard let size = self.files.size(of: self.path), (1..<512).contains(size) else { return }
    throw StorageError(
      operation: "open", code: .notADatabase, message: "the file is too short for a database",
      fileName: self.kind.fileName)
  }

  /// Whether the file is still empty.
  ///
  /// - Throws: `OpeningFailure` (refused) if it is another program's, and `StorageError`.
  private func isBlank(_ connection: SQLiteConnection) throws -> Bool {
    try connection.read {
      let id = try connection.first("PRAGMA application_id") { try $0.integer(at: 0) } ?? 0
      // Also for the library's own: a connection reads once when it is opened, so that it never
      // opens the WAL of a file that takes the place of this one.
      let tables =
        try connection.first("SELECT count(*) FROM sqlite_schema") { try $0.integer(at: 0) } ?? 0
      if id == self.kind.applicationID { return false }
      if tables > 0, try self.hasOwnLedger(connection) {
        throw StorageError(
          operation: "open", code: .corrupt, message: "its application_id is \(id)",
          fileName: self.kind.fileName)
      }
      if id != 0 { throw self.foreign("its application_id is \(id)") }
      if tables > 0 { throw self.foreign("it has tables, and no application_id") }
      return true
    }
  }

  private static let ledger: SQL =
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'"
  private static let ledgerNames: SQL = "SELECT name FROM migrations"

  /// Whether this release's migrations made the tables: no other program has their names.
  private func hasOwnLedger(_ connection: SQLiteConnection) throws -> Bool {
    guard try connection.first(Self.ledger, read: { _ in true }) == true else { return false }
    let own = Set(self.migrations.map(\.name))
    // Another program's table may have other columns.
    let found = try? connection.rows(Self.ledgerNames) { try $0.text(at: 0) }
    return found?.contains { own.contains($0) } ?? false
  }

  private func foreign(_ reason: String) -> OpeningFailure {
    OpeningFailure(
      .refused,
      StorageError(
        operation: "open", code: .cannotOpen,
        message: "it is no \(self.kind) database of this library, \(reason); it is as it was",
        fileName: self.kind.fileName))
  }

  private static func blank(_ kind: DatabaseKind) -> OpeningFailure {
    OpeningFailure(
      .blank,
      StorageError(
        operation: "open", code: .cannotOpen, message: "it is empty, or is being made",
        fileName: kind.fileName))
  }

  /// Refuses a file that may not be written, before SQLite makes a WAL and an shm beside it with the
  /// same permissions: those would be in the way once the file may be written again.
  private func requirePermission() throws(StorageError) {
    guard access(self.path, W_OK) != 0, [EACCES, EROFS].contains(errno) else { return }
    throw self.unwritable
  }

  private var unwritable: StorageError {
    StorageError(
      operation: "open", code: .readOnly, message: "the file cannot be written",
      fileName: self.kind.fileName)
  }

  private func requireWritable(_ connection: SQLiteConnection) throws(StorageError) {
    guard try connection.isReadOnly else { return }
    if access(self.path, W_OK) == 0 {
      throw StorageError(
        operation: "open", code: .corrupt, message: "its header says that it must not be written",
        fileName: self.kind.fileName)
    }
    throw self.unwritable
  }
}

// MARK: - Settings

extension DatabaseOpener {
  /// Switches to WAL mode, which does not call the busy handler.
  private func switchToWAL(
    _ connection: SQLiteConnection,
    until end: SuspendingClock.Instant
  ) throws(StorageError) {
    var round: Int32 = 0
    while true {
      do throws(StorageError) {
        let mode = try connection.pragma("PRAGMA journal_mode = WAL")
        if mode == "wal" { return }
        throw StorageError(
          operation: "switch to WAL", code: .cannotOpen,
          message: "the file stays in mode \(mode ?? "?")", fileName: self.kind.fileName)
      } catch {
        guard error.code == .busy, SuspendingClock.now < end else { throw error }
        LockWait.sleep(round: round)
        round += 1
      }
    }
  }

  /// A file that was empty but not new may have been made without it.
  private func requireAutoVacuum(_ connection: SQLiteConnection) throws(StorageError) {
    if try connection.pragma("PRAGMA auto_vacuum") == "2" { return }
    try connection.pragma("PRAGMA auto_vacuum = 2")
    try connection.pragma("VACUUM")
  }

  /// If the header says otherwise, a bit was flipped, and writes would go to wrong pages.
  private func requireNoAutoVacuum(_ connection: SQLiteConnection) throws(StorageError) {
    if try connection.pragma("PRAGMA auto_vacuum") == "0" { return }
    throw StorageError(
      operation: "open", code: .corrupt, message: "its header says that its pages are moved",
      fileName: self.kind.fileName)
  }

  private func configure(_ connection: SQLiteConnection) throws {
    try connection.pragma("PRAGMA mmap_size = 0")
    // Debian's build turns it on; it doubles what a delete writes. `erase()` turns it on.
    try connection.pragma("PRAGMA secure_delete = 0")
    try connection.pragma("PRAGMA cell_size_check = 1")
    switch self.durability {
    case .normal: try connection.pragma("PRAGMA synchronous = 1")
    case .full: try connection.pragma("PRAGMA synchronous = 2")
    }
  }
}
