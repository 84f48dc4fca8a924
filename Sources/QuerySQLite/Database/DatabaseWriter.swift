import Query

/// The writer of a database's file, in what it does alike for either of them: how it goes on after a
/// failure.
///
/// Used by the writing thread alone.
protocol DatabaseWriter: ThreadedWriter {
  var file: FileKeeper { get }
  var log: LogKeeper { get set }

  /// The connection; nil while the file cannot be used.
  var connection: SQLiteConnection? { get }

  /// Whether the file can be written.
  var health: WriteHealth { get }

  /// The connection, on the file that is at the path now. Opens it if it is not open, or if the file
  /// was moved away.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  func usableConnection() throws -> SQLiteConnection

  /// Opens the file, or a new one if it is of no use.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  func open() throws

  /// Closes the file, for the readers too, and releases its lock.
  func letGoOfFile()

  /// Reports that nothing can be written for now, and schedules the next retry.
  func degrade(_ error: StorageError)
}

extension DatabaseWriter {
  /// Opens the file.
  var opener: DatabaseOpener { self.file.opener }

  /// Reports that a write has succeeded, if one had failed.
  func didWork() { self.health.didSucceed() }

  /// Handles a failure: a damaged file is replaced, anything else is retried later.
  func didFail(_ error: any Error) {
    let failure = StorageError(any: error, operation: "write")
    if failure.isDamage(of: self.file.opener.kind), self.connection != nil {
      return self.didFindDamage(failure)
    }
    // The connection keeps the disk's last error.
    if failure.extendedCode == .diskFailedToRead { self.letGoOfFile() }
    self.degrade(failure)
  }

  /// Records that the file is damaged, and replaces it.
  func didFindDamage(_ error: StorageError) {
    guard self.connection != nil, self.file.note(error) else { return }
    self.letGoOfFile()
    do {
      try self.open()
    } catch {
      self.degrade(StorageError(any: error, operation: "open"))
    }
  }

  /// How long a caller that commits on its own thread waits for a lock: the writing thread waits
  /// longer.
  static var callersPatience: BusyHandler.Patience { .limited(.milliseconds(1)) }

  /// Commits on the thread of a caller, with ``WritingThread/ifIdle(_:)``, and notifies the other
  /// processes. A checkpoint that is due then is left to the writing thread.
  ///
  /// - Parameter commit: Makes the commit, and returns whether it is made.
  /// - Returns: What the closure returned; false if it was not called, since there is something to
  ///   mend or to checkpoint first.
  func commitForCaller(_ commit: (SQLiteConnection) -> Bool) -> Bool {
    guard let connection, !self.health.isRetryPending, !self.log.isLeft else { return false }
    self.log.leavesCheckpoints = true
    defer { self.log.leavesCheckpoints = false }
    guard commit(connection) else { return false }
    self.neighbours.notify()
    return true
  }

  /// Makes sure that the open file is the one at the path.
  func reopenWhereMoved() {
    do {
      _ = try self.usableConnection()
    } catch {
      self.didFail(error)
    }
  }

  /// Does something with the WAL, and replaces the file if that finds it damaged.
  func keepLog(_ body: (inout LogKeeper) throws -> Void) {
    do {
      try body(&self.log)
    } catch {
      self.didFail(error)
    }
  }

  /// Identifies the file at the path among all that were there.
  var fileAtPath: FileNumber? { self.file.fileAtPath }
}
