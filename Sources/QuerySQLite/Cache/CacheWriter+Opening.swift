import FoundationEssentials
import Query

// MARK: - Opening

extension CacheWriter {
  /// The connection, on the file that is at the path now. Opens it if it is not open, or if the
  /// file was moved away.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  func usableConnection() throws -> SQLiteConnection {
    if let connection = self.connection {
      if self.file.isUndisturbed { return connection }
      let hasMoved = try !self.file.isInPlace(connection)
      let hasLog = self.file.areCompanionsInPlace
      if !hasMoved, self.file.isLockInPlace, hasLog { return connection }
      self.database.readers.suspend()
      if hasMoved {
        // The folder was emptied by a person or a process: the cache is gone, and nothing of it
        // goes into the new file.
        self.isLastFileMoved = true
        self.degrade(Self.moved)
      } else if !hasLog {
        self.degrade(self.file.rescueLog(connection))
      }
      self.letGoOfFile()
    }
    try self.open()
    guard let connection = self.connection else { throw CacheDatabase.closed }
    return connection
  }

  private static let moved = StorageError(
    operation: "write", code: .moved,
    message: "the file was moved or removed, and the values in it with it",
    fileName: DatabaseKind.cache.fileName)

  /// Opens the file, or a new one if it is damaged or of a newer release.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  func open() throws {
    try self.file.open {
      try self.openFile()
    } didFail: { failure in
      if [.readOnly, .permission, .cannotOpen, .full].contains(failure.code)
        || failure.extendedCode == .noRoomForSharedMemory
      {
        try self.readAlone(failure)
      }
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
      let found = try? CacheTables.existingWithRow(named: partition.name, on: connection)
      partition.row = found?.row
    }
    self.database.isReadAlone.withLock { $0 = true }
    self.database.fileNumber.withLock { $0 = self.fileAtPath }
    self.database.readers.reopen()
  }

  private func openFile() throws {
    try self.file.lockFile()
    do {
      try self.finishSettingAside()
      try self.setAsideForeignLog()
      try self.file.replaceDamaged { try self.setAside(.corrupt, $1, $0) }
      let connection = try self.file.openWriter(replacingIf: \.mustSetAside) {
        try self.setAside($1.kind, $1.error, $0)
      }
      self.connection = connection
      try self.prepare(self.database.partitions, finishesErasing: true, connection)
    } catch {
      self.letGoOfFile()
      throw error
    }
    // If a file has taken the place of another one, other processes have written what is in it.
    if let lastFile, lastFile != self.fileAtPath {
      for name in self.seenRevisions.keys { self.seenRevisions[name] = 0 }
      if !self.isLastFileMoved { self.database.handOverAgain() }
    }
    (self.lastFile, self.isLastFileMoved) = (self.fileAtPath, false)
    if let connection { self.neighbours.follow(connection) }
    self.file.noteFiles()
    self.database.fileNumber.withLock { $0 = self.fileAtPath }
    self.database.readers.reopen()
    // It may be another file than before.
    for partition in self.database.partitions { partition.tellOfPacks() }
  }

  /// Closes the file, for the readers too, and releases its lock.
  func letGoOfFile() {
    self.database.readers.suspend()
    self.database.isReadAlone.withLock { $0 = false }
    self.database.fileNumber.withLock { $0 = nil }
    self.closeConnection()
    self.neighbours.unfollow()
    self.file.unlock()
    for partition in self.database.partitions {
      partition.row = nil
      partition.forgetPrefetched()
    }
    self.seenRevisions = [:]
    self.ownRevisions = [:]
    (self.evictions, self.shrinking) = ([], nil)
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
  /// Finishes what a process has left that was killed while it replaced the file.
  private func finishSettingAside() throws {
    let files = self.file.setAside
    guard try files.isPending else { return }
    try self.file.withExclusiveLock { try files.finish(holding: $0) }
  }

  /// Replaces the file if the WAL beside it is not its own: SQLite would mix the two.
  ///
  /// A killed process leaves a WAL; a process that closes the file removes it. The first process
  /// to open the file checks it, before SQLite does.
  private func setAsideForeignLog() throws {
    guard try DatabaseFiles.logMayHaveFrames("\(self.opener.path)-wal") else { return }
    try self.file.checkAsFirst {
      try LogCheck.foreignLog(ofCache: self.opener.path, self.opener.migrations)
    } replace: { error, lock in
      try self.setAside(.corrupt, error, lock)
    }
  }

  private func setAside(
    _ kind: OpeningFailure.Kind, _ error: StorageError, _ lock: FileLock
  ) throws {
    let reason: SetAside.Reason =
      switch kind {
      case .newer(let level): .newer(level: level)
      case .altered: .newer(level: self.opener.migrations.count)
      default: .corrupt
      }
    guard let name = try self.file.setAside.run(reason, holding: lock) else { return }
    for partition in self.database.partitions {
      partition.tell(.setAside(fileName: name, reason: error))
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

  /// The row of a partition. Its first change may come before the job that prepares it.
  ///
  /// - Throws: `StorageError`.
  func row(of partition: CachePartition, _ connection: SQLiteConnection) throws -> PartitionRow {
    if partition.row == nil { try self.prepare([partition], finishesErasing: true, connection) }
    guard let row = partition.row else { throw CacheDatabase.closed }
    return row
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
    self.health.didFail(error)
    // No reader waits for a file that may be a long time coming.
    if self.connection == nil, !self.database.isReadAlone.withLock({ $0 }) {
      self.database.readers.close()
    }
  }

  /// Tries again what failed, and reports the outcome.
  func recover() { try? self.commitAll() }

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
