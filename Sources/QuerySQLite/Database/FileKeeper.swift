import FoundationEssentials
import Glibc
import Query

/// Keeps a database's file in its place: holds its lock while it is open, and replaces it if it is
/// damaged, when no other process has it open.
///
/// Used by the writing thread alone.
final class FileKeeper {
  /// Opens the file.
  var opener: DatabaseOpener
  private let lock: FileLock
  private var lockCheckedAt: SuspendingClock.Instant?

  /// The file that was found damaged, and is to be replaced whatever opening it reports.
  private var damaged: (file: FileNumber, error: StorageError)?

  /// The file that was reported as damaged once, and was checked a second time.
  private var suspected: FileNumber?

  /// The file, its WAL and its shm that SQLite has open; nil before they are noted.
  private var place: FilePlace?

  /// When the whole path was last checked.
  private var pathCheckedAt: SuspendingClock.Instant?

  init(_ opener: DatabaseOpener) {
    self.opener = opener
    self.lock = FileLock(kind: opener.kind, folder: opener.folder)
  }

  /// Identifies the file at the path among all that were there.
  var fileAtPath: FileNumber? { FileNumber(path: self.opener.path) }

  /// Renames a file that cannot be used.
  var setAside: SetAside { SetAside(kind: self.opener.kind, folder: self.opener.folder) }
}

// MARK: - The lock

extension FileKeeper {
  /// Makes the folder, and takes the lock, so that no process replaces the file.
  ///
  /// - Parameter patience: How long to wait for a process that is replacing it; nil: as long as
  ///   opening the file may take.
  /// - Throws: `OpeningFailure`.
  func lockFile(patience: Duration? = nil) throws(OpeningFailure) {
    do {
      try self.opener.files.refuseLongPath(self.opener.path)
      try self.opener.files.makeFolder(self.opener.folder)
      try self.opener.files.refuseNetworkFileSystem(self.opener.folder)
      try self.lock.lockShared(patience: patience ?? self.opener.patience)
    } catch let failure as OpeningFailure {
      throw failure
    } catch {
      throw OpeningFailure(StorageError(any: error, operation: "open"))
    }
  }

  /// Whether the lock is on the file at its path. Checked once a second: a process that empties the
  /// folder moves the database away, too, which the writers check each time.
  var isLockInPlace: Bool {
    if let last = self.lockCheckedAt, .now - last < .seconds(1) { return true }
    self.lockCheckedAt = .now
    return self.lock.isCurrent
  }

  /// Releases the lock, after the connections are closed.
  func unlock() {
    (self.place, self.pathCheckedAt) = (nil, nil)
    self.lock.unlock()
  }

  /// Releases the lock and closes its file.
  func letGo() { self.lock.letGo() }

  /// Holds the lock exclusively from now on, if no other process has the file open.
  ///
  /// - Returns: Whether it does.
  func lockExclusively() -> Bool { (try? self.lock.tryExclusive()) == true }

  /// Runs a closure while no process has the file open, this one included.
  ///
  /// - Parameters:
  ///   - damage: What is wrong with the file; nil if only the process that left it behind knew.
  ///   - body: The closure. It gets the lock.
  /// - Throws: `StorageError` (busy) if another process has it open; what the closure throws.
  func withExclusiveLock(
    toReplace damage: StorageError? = nil, _ body: (FileLock) throws -> Void
  ) throws {
    guard try self.lock.ifAlone({ try body(self.lock) }) else {
      throw StorageError.damagedAndInUse(self.opener.kind, damage)
    }
  }

  /// Checks what a process has left behind that was killed, before SQLite opens the file.
  ///
  /// Another one that has the file open has done so. One that is about to open it has not, and keeps this one
  /// from being alone as this one keeps it; it may also be stopped there. Then nobody writes, so that each can
  /// look.
  ///
  /// - Parameters:
  ///   - damage: What is wrong with the file; nil if it is sound.
  ///   - replace: Replaces the file. No other process has it open.
  /// - Returns: Whether no other process had it open.
  /// - Throws: `StorageError` (busy) if it is damaged, and another process does not let go of it; what the
  ///   closures throw.
  @discardableResult
  func checkAsFirst(
    _ damage: () throws -> StorageError?, replace: (StorageError, FileLock) throws -> Void
  ) throws -> Bool {
    let end = SuspendingClock.now + self.opener.patience
    var round: Int32 = 0
    while true {
      let isAlone = try self.lock.ifAlone {
        if let error = try damage() { try replace(error, self.lock) }
      }
      if isAlone { return true }
      try self.lock.lockShared(patience: self.opener.patience)
      if self.lock.isCheckedByOthers { return false }
      guard let error = try damage() else { return false }
      guard SuspendingClock.now < end else {
        throw StorageError.damagedAndInUse(self.opener.kind, error)
      }
      // Two that kept the lock while they wait would never be alone.
      self.lock.unlock()
      LockWait.sleep(round: round)
      round += 1
    }
  }

  /// Runs a closure if no other process has the file open: if one has, it did the same when it
  /// opened the file.
  ///
  /// - Returns: Whether it ran.
  /// - Throws: `StorageError`; what the closure throws.
  @discardableResult
  func asFirst(_ body: (FileLock) throws -> Void) throws -> Bool {
    if try self.lock.ifAlone({ try body(self.lock) }) { return true }
    try self.lock.lockShared(patience: self.opener.patience)
    return false
  }
}

// MARK: - The WAL

extension FileKeeper {
  /// Notes which file, WAL and shm SQLite has open, after it has opened them.
  func noteFiles() {
    let files = ["", "-wal", "-shm"].compactMap { suffix in
      FileNumber(path: self.opener.path + suffix).map {
        (name: self.opener.kind.fileName + suffix, number: $0)
      }
    }
    self.place = FilePlace(folder: self.opener.folder, files: files)
    self.pathCheckedAt = nil
  }

  /// Whether the file, its WAL, its shm and its lock are in their folder, which was at its path a moment
  /// ago. As a rule, one look at the folder tells.
  var isUndisturbed: Bool {
    guard let checked = self.pathCheckedAt, .now - checked < .milliseconds(10),
      self.place?.isKept == true
    else { return false }
    return self.isLockInPlace
  }

  /// Whether the file is still at its path.
  ///
  /// - Throws: `StorageError`.
  func isInPlace(_ connection: SQLiteConnection) throws(StorageError) -> Bool {
    self.pathCheckedAt = .now
    return try !connection.hasMoved
  }

  /// Whether the WAL and the shm are still at their paths. If not, the next process to open the file
  /// would not find the commits that are in the WAL, and would not see this one's locks.
  var areCompanionsInPlace: Bool {
    self.place?.isKept(but: self.opener.kind.fileName) ?? true
  }

  /// Copies a WAL that is no longer beside its file into the file, if no other process uses it.
  ///
  /// - Returns: What happened, for the callers that wait and the users.
  func rescueLog(_ connection: SQLiteConnection) -> StorageError {
    let result =
      self.lockExclusively() ? try? connection.checkpoint(.reset, patience: .zero) : nil
    let isRescued = result?.isComplete == true
    if isRescued {
      // What is in their place now is older than the file, or another file's.
      let log = self.opener.path + "-wal"
      // Bytes: a WAL and an shm that no connection has open, under the exclusive lock.
      rename(log, self.setAside.replacedLogPath)
      unlink(self.opener.path + "-shm")
    }
    let outcome =
      isRescued ? "what it had is in the file" : "commits that were in it alone may be lost"
    return StorageError(
      operation: "write", code: .moved,
      message: "the log or the shm was moved or removed; \(outcome)",
      fileName: self.opener.kind.fileName)
  }
}

// MARK: - Damage

extension FileKeeper {
  /// Notes that the file at the path is damaged, unless one is noted already.
  ///
  /// - Returns: Whether opening it again will replace it.
  func note(_ error: StorageError) -> Bool {
    guard error.isDamage(of: self.opener.kind), self.damaged == nil, let file = self.fileAtPath
    else { return false }
    self.damaged = (file, error)
    return true
  }

  /// Opens the file; once more if that finds it damaged, which replaces it. Opening checks the schema
  /// alone: the first rows are read after that.
  ///
  /// - Parameters:
  ///   - openFile: Opens it, by ``replaceDamaged(_:)`` first.
  ///   - didFail: Called with the first failure. If it throws, its error is thrown.
  /// - Throws: What `openFile` throws.
  func open(
    _ openFile: () throws -> Void, didFail: (StorageError) throws -> Void = { _ in }
  ) throws {
    do {
      try openFile()
    } catch {
      let failure = StorageError(any: error, operation: "open")
      try didFail(failure)
      guard self.note(failure) else { throw error }
      try openFile()
    }
  }

  /// Replaces the file that a read or a write has found damaged, if it is still at the path.
  ///
  /// - Parameter setAside: Renames it, and salvages what it has.
  /// - Throws: `OpeningFailure`, `StorageError`.
  func replaceDamaged(_ setAside: (FileLock, StorageError) throws -> Void) throws {
    guard let damaged = self.damaged else { return }
    if self.fileAtPath == damaged.file, try self.confirms(damaged.error, in: damaged.file) {
      try self.withExclusiveLock(toReplace: damaged.error) { lock in
        if self.fileAtPath == damaged.file { try setAside(lock, damaged.error) }
      }
    }
    self.damaged = nil
  }

  /// Whether a file is damaged, confirmed by a second check. If one that was reported proves sound,
  /// the next report is believed.
  private func confirms(_ error: StorageError, in file: FileNumber) throws -> Bool {
    // An index that lacks a row was found in pages that SQLite takes for sound.
    if !error.code.isOfPages || error.extendedCode == .wrongIndex || self.suspected == file {
      return true
    }
    let isDamaged = try self.opener.findsDamage()
    self.suspected = file
    return isDamaged
  }

  /// Opens the file; if it is of no use, replaces it first.
  ///
  /// - Parameters:
  ///   - isUseless: Whether a file that cannot be opened is to be replaced.
  ///   - setAside: Renames it, and salvages what it has.
  /// - Throws: `OpeningFailure`, `StorageError`.
  func openWriter(
    replacingIf isUseless: (OpeningFailure) -> Bool,
    _ setAside: (FileLock, OpeningFailure) throws -> Void
  ) throws -> SQLiteConnection {
    do {
      return try self.openWriter()
    } catch {
      guard isUseless(error) else { throw error }
      try self.replace(error, if: isUseless, setAside)
    }
    return try self.openWriter()
  }

  private func openWriter() throws(OpeningFailure) -> SQLiteConnection {
    // Before SQLite writes: from then on others must not read the log by themselves.
    self.lock.showChecked()
    let connection = try self.opener.openWriter()
    connection.isAlone = { [lock] in !lock.hasOthers }
    return connection
  }

  private func replace(
    _ failure: OpeningFailure, if isUseless: (OpeningFailure) -> Bool,
    _ setAside: (FileLock, OpeningFailure) throws -> Void
  ) throws {
    try self.withExclusiveLock(toReplace: failure.error) { lock in
      // Another process may have replaced it before this one got the lock.
      do {
        try self.opener.openWriter().close()
      } catch let failure as OpeningFailure {
        guard isUseless(failure) else { throw failure }
        try setAside(lock, failure)
      }
    }
  }
}
