import Foundation
import Query

// MARK: - Opening

extension CacheWriter {
  /// The connection, on the file that is at the path now. Opens it if it is not open, or if the
  /// file was moved away.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  func usableConnection() throws -> SQLiteConnection {
    if let connection = self.connection {
      if try !connection.hasMoved, self.isLockInPlace { return connection }
      // The folder was emptied by a person or a process: the cache is gone, and nothing of it goes
      // into the new file.
      self.letGoOfFile()
    }
    try self.open()
    guard let connection = self.connection else { throw CacheDatabase.closed }
    return connection
  }

  /// Whether the lock is on the file at its path. Checked once a second: a process that empties the
  /// folder moves the database away, too, which is checked each time.
  private var isLockInPlace: Bool {
    if let last = self.lockCheckedAt, .now - last < .seconds(1) { return true }
    self.lockCheckedAt = .now
    return self.fileLock.isCurrent
  }

  /// Opens the file, or a new one if it is damaged or of a newer release.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  func open() throws {
    do {
      try self.openFile()
    } catch {
      // The opener checks the schema alone. The first rows are read after that.
      let failure = StorageError(any: error, operation: "open")
      if [.readOnly, .permission, .cannotOpen].contains(failure.code) {
        try self.readAlone(failure)
      }
      guard failure.isDamage, self.damaged == nil, let file = self.fileAtPath else { throw error }
      self.damaged = (file, failure)
      try self.openFile()
    }
  }

  /// Opens the file for reading alone if it can be read but not written: what it has is shown.
  ///
  /// - Throws: `StorageError` that says why it cannot be read either, if that is not the reason why
  ///   it cannot be written.
  private func readAlone(_ failure: StorageError) throws(StorageError) {
    guard (self.opener.fileSize ?? 0) > 0 else { return }
    guard let opener = self.opener.forReadingAlone else {
      throw StorageError(
        operation: failure.operation, code: failure.extendedCode,
        message: """
          \(failure.message); nor can it be read: its log has changes, and what SQLite needs to read \
          them, \(self.opener.kind.fileName)-shm, is missing and cannot be made
          """,
        fileName: failure.fileName)
    }
    guard let connection = try? opener.openReader() else { return }
    defer { try? connection.close() }
    for partition in self.database.partitions {
      let tables = try? CacheTables.existing(named: partition.name, on: connection)
      partition.row = try? tables?.readPartition()
    }
    self.database.isReadAlone.withLock { $0 = true }
    self.database.fileNumber.withLock { $0 = self.fileAtPath }
    self.database.readers.reopen()
  }

  private func openFile() throws {
    try self.opener.files.refuseLongPath(self.opener.path)
    try self.asOpeningFailure {
      try self.opener.files.makeFolder(self.opener.folder)
      try self.opener.files.refuseNetworkFileSystem(self.opener.folder)
      try self.fileLock.lockShared(patience: self.opener.patience)
    }
    do {
      try self.finishSettingAside()
      try self.setAsideDamaged()
      let connection = try self.openOrReplace()
      self.connection = connection
      try self.prepare(self.database.partitions, finishesErasing: true, connection)
    } catch {
      self.letGoOfFile()
      throw error
    }
    // If a file has taken the place of another one, other processes have written what is in it.
    if let lastFile, lastFile != self.fileAtPath {
      for name in self.seenRevisions.keys { self.seenRevisions[name] = 0 }
    }
    self.lastFile = self.fileAtPath
    self.watch = ChangeWatch(kind: .cache, folder: self.opener.folder)
    if let version = try? self.connection?.dataVersion { self.lastDataVersion = version }
    self.database.fileNumber.withLock { $0 = self.fileAtPath }
    self.database.readers.reopen()
  }

  private func openOrReplace() throws -> SQLiteConnection {
    do {
      return try self.opener.openWriter()
    } catch {
      guard error.mustSetAside else { throw error }
      return try self.openAfterSettingAside(error.error)
    }
  }

  /// Closes the file, for the readers too, and releases its lock.
  func letGoOfFile() {
    self.database.readers.suspend()
    self.database.isReadAlone.withLock { $0 = false }
    self.database.fileNumber.withLock { $0 = nil }
    self.closeConnection()
    self.watch = nil
    self.fileLock.unlock()
    for partition in self.database.partitions {
      partition.row = nil
      partition.forgetPrefetched()
    }
    self.seenRevisions = [:]
    self.ownRevisions = [:]
  }

  private func asOpeningFailure(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as StorageError {
      throw OpeningFailure(error)
    }
  }
}

// MARK: - Setting aside

extension OpeningFailure {
  /// Whether the file is of no use to this release, and has to be replaced.
  fileprivate var mustSetAside: Bool {
    switch self.kind {
    case .corrupt, .newer, .altered: true
    case .refused, .blank: false
    case .unavailable: self.error.isDamage
    }
  }
}

extension CacheWriter {
  /// Replaces a file that cannot be used, if no other process uses it.
  private func openAfterSettingAside(_ damage: StorageError) throws -> SQLiteConnection {
    try self.withExclusiveLock(toReplace: damage) {
      // Another process may have replaced it before the lock was ours.
      do {
        let connection = try self.opener.openWriter()
        try connection.close()
      } catch let failure as OpeningFailure {
        guard failure.mustSetAside else { throw failure }
        try self.setAside(failure.kind, failure.error)
      }
    }
    return try self.opener.openWriter()
  }

  /// Runs a closure while no other process has the file open. No connection is open here, either.
  private func withExclusiveLock(
    toReplace damage: StorageError? = nil, _ body: () throws -> Void
  ) throws {
    guard try self.fileLock.ifAlone(body) else {
      throw OpeningFailure(.unavailable, .damagedAndInUse(.cache, damage))
    }
  }

  /// Finishes what a process has left that was killed while it replaced the file.
  private func finishSettingAside() throws {
    guard try self.files.isPending else { return }
    try self.withExclusiveLock { try self.files.finish(holding: self.fileLock) }
  }

  /// Replaces the file that a read or a write has found damaged.
  private func setAsideDamaged() throws {
    guard let damaged = self.damaged else { return }
    guard self.fileAtPath == damaged.file, try self.confirms(damaged.error, in: damaged.file)
    else {
      self.damaged = nil
      return
    }
    try self.withExclusiveLock(toReplace: damaged.error) {
      if self.fileAtPath == damaged.file { try self.setAside(.corrupt, damaged.error) }
    }
    self.damaged = nil
  }

  /// Whether a file is damaged, confirmed by a second check. If one that was reported proves sound,
  /// the next report is believed.
  private func confirms(_ error: StorageError, in file: FileNumber) throws -> Bool {
    if !error.code.isOfPages || self.suspected == file { return true }
    let isDamaged = try self.opener.findsDamage()
    self.suspected = file
    return isDamaged
  }

  private func setAside(_ kind: OpeningFailure.Kind, _ error: StorageError) throws {
    let reason: SetAside.Reason =
      switch kind {
      case .newer(let level): .newer(level: level)
      case .altered: .newer(level: self.opener.migrations.count)
      default: .corrupt
      }
    guard let name = try self.files.run(reason, holding: self.fileLock) else { return }
    for partition in self.database.partitions {
      partition.tell(.setAside(fileName: name, reason: error))
    }
  }

  /// Tells the file at the path from others that were there.
  var fileAtPath: FileNumber? { FileNumber(path: self.opener.path) }

  /// Notes that a reader has found a file damaged, and replaces it, unless that was done.
  func didFindDamage(_ error: StorageError, in file: FileNumber) {
    if self.database.fileNumber.withLock({ $0 }) == file { self.didFindDamage(error) }
  }

  /// Notes that the file is damaged, and replaces it.
  func didFindDamage(_ error: StorageError) {
    guard self.connection != nil, let file = self.fileAtPath else { return }
    self.damaged = (file, error)
    self.letGoOfFile()
    do {
      try self.open()
    } catch {
      self.degrade(StorageError(any: error, operation: "open"))
    }
  }
}

// MARK: - Partitions

extension CacheWriter {
  /// Reads the rows of partitions, which are created if they are missing, into what the process
  /// knows of them.
  ///
  /// - Parameter finishesErasing: Whether to finish an `erase()` that another process has begun.
  ///   Not if that process may still be at it.
  func prepare(_ partitions: [CachePartition], finishesErasing: Bool = true) {
    guard let connection = self.connection else { return }
    do {
      try self.prepare(partitions, finishesErasing: finishesErasing, connection)
    } catch {
      self.didFail(error)
    }
  }

  private func prepare(
    _ partitions: [CachePartition], finishesErasing: Bool, _ connection: SQLiteConnection
  ) throws {
    for partition in partitions {
      var (tables, row) = try CacheTables.withRow(named: partition.name, on: connection)
      if finishesErasing, row.isErasing, !partition.isErasing {
        // Another process died over it, or could not finish it. The next opening tries again.
        try? self.finishErasing(tables, patience: .seconds(1))
        (tables, row) = try CacheTables.withRow(named: partition.name, on: connection)
      }
      partition.row = row
      self.seenRevisions[partition.name] = row.revision
    }
  }
}

// MARK: - Failing

extension CacheWriter {
  /// Reports that nothing can be written for the time being, and schedules the next try.
  func degrade(_ error: StorageError) {
    let now = SuspendingClock.now
    // A caller that asks in between, as a flush does, does not put the next try off.
    if self.retry.map({ $0.at <= now }) ?? true {
      let delay = min(
        self.retry.map { $0.delay * 2 } ?? self.configuration.retryDelay, .seconds(30))
      self.retry = (now + delay, delay)
    }
    if self.database.degradation == nil {
      for partition in self.database.partitions { partition.hub.send(.degraded(error)) }
    }
    self.database.degradation = error
    // No reader waits for a file that may be a long time coming.
    if self.connection == nil, !self.database.isReadAlone.withLock({ $0 }) {
      self.database.readers.close()
    }
  }

  /// Reports that a write has worked.
  func didWork() {
    self.retry = nil
    guard self.database.degradation != nil else { return }
    self.database.degradation = nil
    for partition in self.database.partitions { partition.hub.send(.recovered) }
  }

  /// Handles a failure: a damaged file is replaced, anything else is tried again later.
  func didFail(_ error: any Error) {
    let failure = StorageError(any: error, operation: "write")
    if failure.isDamage, self.connection != nil {
      self.didFindDamage(failure)
      // If it was replaced, all is well, unless something else had failed before; if it was not,
      // that has been reported.
      if self.retry == nil || self.connection == nil { return }
    }
    // The disk's last error sticks to the connection.
    if failure.extendedCode == .diskFailedToRead { self.letGoOfFile() }
    self.degrade(failure)
  }

  /// Tries again what failed, and reports the outcome.
  func recover() { try? self.commitAll() }

  /// Makes sure that the open file is the one at the path.
  func reopenWhereMoved() {
    do {
      _ = try self.usableConnection()
    } catch {
      self.didFail(error)
    }
  }

  /// Reports that what failed works again, if it does.
  func confirmRecovery() {
    do {
      _ = try self.usableConnection()
      try self.probe()
      self.didWork()
    } catch {
      self.didFail(error)
    }
  }

  /// Finds out whether anything can be written, by writing what is there already.
  private func probe() throws {
    guard let connection = self.connection, let partition = self.database.partitions.first,
      partition.row != nil
    else { return }
    try connection.write {
      var changes = try CacheTables.current(named: partition.name, on: connection).begin()
      _ = changes.nextHiddenNumber()
      _ = try changes.finish()
    }
  }
}
