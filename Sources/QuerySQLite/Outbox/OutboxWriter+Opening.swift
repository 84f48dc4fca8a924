import FoundationEssentials
import Glibc
import Query

// MARK: - Opening

extension OutboxWriter {
  /// The connection, on the file that is at the path now.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  func usableConnection() throws -> SQLiteConnection {
    if let connection = self.connection {
      if self.file.isUndisturbed { return connection }
      if try self.file.isInPlace(connection) {
        let hasLog = self.file.areCompanionsInPlace
        if self.file.isLockInPlace, hasLog { return connection }
        self.database.readers.suspend()
        if !hasLog { self.degrade(self.file.rescueLog(connection)) }
      } else {
        self.emptyLogOfMovedFile(connection)
        self.tellOfMovedFile(connection)
      }
      self.letGoOfFile()
    }
    try self.open()
    guard let connection = self.connection else { throw OutboxDatabase.closed }
    return connection
  }

  /// Checkpoints the WAL into the file that was moved away, if no other process uses either: at its
  /// old place the WAL would be taken for that of the file that is there now.
  private func emptyLogOfMovedFile(_ connection: SQLiteConnection) {
    guard self.file.lockExclusively() else { return }
    _ = try? connection.checkpoint(.reset, patience: .zero)
  }

  /// Reports that the file with its mutations was taken away: the file in its place has others. If
  /// it comes back, so do they.
  private func tellOfMovedFile(_ connection: SQLiteConnection) {
    let hasRows = try? connection.first(Self.hasRows) { try $0.bool(at: 0) }
    if hasRows == false { return }
    self.degrade(
      StorageError(
        operation: "write", code: .moved,
        message: "the file was moved or removed, and the mutations in it with it",
        fileName: DatabaseKind.mutations.fileName))
  }

  private static let hasRows: SQL = "SELECT EXISTS (SELECT 1 FROM outbox)"

  /// Opens the file; if it is damaged, opens a new one with the salvaged rows.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  func open() throws { try self.file.open { try self.openFile() } }

  private func openFile() throws {
    try self.file.lockFile()
    do {
      try self.finishSettingAside()
      try self.setAsideDamagedLog()
      try self.setAsideEmptied()
      try self.file.replaceDamaged { try self.setAside($1, $0) }
      let connection = try self.openWithRoom()
      self.connection = connection
      // Work before the first job must not make its caller wait twice.
      connection.busyHandler.patience = .until(.now + self.opener.patience)
      try self.readClock(connection)
      try OutboxRepair(connection, self.now).run()
      try self.finishErasing(connection)
    } catch {
      self.letGoOfFile()
      if let failure = error as? OpeningFailure, case .newer = failure.kind { self.readNewer() }
      throw error
    }
    self.didOpen()
  }

  /// Opens the file; on a disk that has no room for its shm, the WAL gives up some of the room that
  /// it keeps.
  private func openWithRoom() throws -> SQLiteConnection {
    do {
      return try self.openOrReplace()
    } catch {
      guard Self.storageError(error).extendedCode == .noRoomForSharedMemory,
        try self.shortenReservedLog()
      else { throw error }
    }
    return try self.openOrReplace()
  }

  private func openOrReplace() throws -> SQLiteConnection {
    try self.file.openWriter(replacingIf: \.isDamage) { try self.setAside($1.error, $0) }
  }

  /// Shortens a WAL without commits, if no other process has the file open.
  ///
  /// - Returns: Whether it is shorter now.
  private func shortenReservedLog() throws -> Bool {
    let log = "\(self.opener.path)-wal"
    var isShorter = false
    try self.file.asFirst { _ in
      guard let size = self.opener.files.size(of: log), size > Self.reservedLogBytes / 2,
        try !DatabaseFiles.logMayHaveFrames(log)
      else { return }
      // Bytes: of a WAL without commits that no process has open, under the exclusive lock.
      isShorter = truncate(log, off_t(Self.reservedLogBytes / 2)) == 0
    }
    return isShorter
  }

  private func didOpen() {
    guard let connection = self.connection else { return }
    self.neighbours.follow(connection)
    self.file.noteFiles()
    // If there is no room for it now, there was none before either.
    try? connection.extendWAL(to: Self.reservedLogBytes)
    connection.reservedBytes = Self.reservedFileBytes
    let number = self.fileAtPath
    self.database.fileNumber.withLock { $0 = number }
    self.database.readers.reopen()
    for partition in self.database.partitions { self.prepare(partition) }
    // Otherwise the next extension of the leases does it.
    try? self.checkLeases(connection)
    // Housekeeping, which may fail.
    try? self.sweepOwners(connection)
    // A file that was set aside may have rows that could not be read, and whose files are here.
    if (try? self.file.setAside.names().isEmpty) == true { try? self.bodies.sweep(connection) }
    self.didWrite(connection)
    self.scheduleEmptyingLog(connection)
    connection.busyHandler.patience = .limited(self.configuration.busyTimeout)
  }

  /// A file of a newer release can be read, if its tables have the columns known here.
  private func readNewer() {
    guard (try? self.file.lockFile(patience: .zero)) != nil else { return }
    self.database.fileNumber.withLock { $0 = self.fileAtPath }
    self.database.readers.reopen()
  }

  /// Converts the heads' times to this boot, and reads the latest time that was known to be right.
  private func readClock(_ connection: SQLiteConnection) throws {
    let now = self.now
    let clock = try connection.first(ClockRow.read) { row in
      (bootID: try row.optionalText(at: 0), synchronisedAt: try row.optionalInteger(at: 1))
    }
    self.synchronisedAt = clock?.synchronisedAt
    if clock?.bootID == now.bootID { return }
    var next: Int64? = .min
    while let last = next {
      if last > .min { connection.letOthersWrite() }
      next = try connection.write {
        // Not before: waiting for the lock is no part of the step.
        let budget = connection.stepBudget(rows: self.configuration.stepRows)
        // Another process may have done it meanwhile.
        let bootID = try connection.first(ClockRow.read) { try $0.optionalText(at: 0) }
        if bootID == now.bootID { return nil }
        let next = try Self.convertWaits(to: now, after: last, budget, connection)
        if next == nil { try connection.execute(ClockRow.setBoot, now.bootID) }
        return next
      }
    }
  }

  /// Rewrites the waits of lanes' heads for another boot, as many as fit into a transaction. Other
  /// waits are converted when they are read, and so are these if this process dies before all are
  /// done.
  ///
  /// - Returns: The last one rewritten; nil at the end.
  private static func convertWaits(
    to now: OutboxTime, after last: Int64, _ budget: StepBudget, _ connection: SQLiteConnection
  ) throws -> Int64? {
    let numbers = try connection.rows(LaneHeadRow.waiting, last, budget.rows) {
      try $0.integer(at: 0)
    }
    for (index, number) in numbers.enumerated() {
      if budget.isSpent(after: index) { return numbers[index - 1] }
      guard var row = try connection.first(OutboxRow.read, number, read: OutboxRow.init) else {
        continue
      }
      let delay = row.standing.wait.delay?.converted(to: now)
      if let delay { row.standing.wait = OutboxWait(row.standing.wait.reason, delay) }
      try row.saveStanding(on: connection)
      try connection.execute(
        LaneHeadRow.setDue, row.standing.dueBoottime(now), number)
    }
    return numbers.count < budget.rows ? nil : numbers.last
  }

  /// Finishes an `erase()` that was left undone, if no other connection blocks it.
  private func finishErasing(_ connection: SQLiteConnection) throws {
    do {
      try self.finishErasing(connection, patience: .seconds(1))
    } catch {
      if Self.storageError(error).isOutboxDamage { throw error }
    }
  }

  /// Suspends the readers, closes the connection and releases the lock.
  func letGoOfFile() {
    self.database.readers.suspend()
    self.database.fileNumber.withLock { $0 = nil }
    try? self.connection?.close()
    self.connection = nil
    self.countedPages = 0
    self.lookedForRoomAtPages = nil
    self.neighbours.unfollow()
    self.file.unlock()
    self.known = [:]
    (self.effectsDone, self.effectsDue, self.effectsInFlight) = ([], nil, [])
    self.isOwnerRecorded = false
  }
}

// MARK: - Setting aside

extension OpeningFailure {
  /// Whether the outbox must be replaced. One of a newer release, or of altered migrations, is
  /// kept.
  var isDamage: Bool {
    switch self.kind {
    case .corrupt: true
    case .newer, .altered, .refused, .blank: false
    case .unavailable: self.error.isOutboxDamage
    }
  }
}

extension OutboxWriter {
  /// Finishes the replacement of a file by a process that was killed.
  func finishSettingAside() throws {
    let files = self.file.setAside
    guard try files.isPending || self.salvage.isPending else { return }
    try self.file.withExclusiveLock { lock in
      try files.finish(holding: lock)
      do {
        self.tell(try self.salvage.finish(with: self.opener), of: Self.leftByOthers)
      } catch {
        // The new file, which was to get the rows, is damaged by now, too.
        let failure = Self.storageError(error)
        guard failure.isOutboxDamage else { throw error }
        try self.setAside(failure, lock)
      }
    }
  }

  private static let leftByOthers = StorageError(
    operation: "open", code: .corrupt,
    message: "the file was damaged, and a process that was killed had set it aside",
    fileName: DatabaseKind.mutations.fileName)

  /// Replaces the file if SQLite would cut its WAL short at a damaged frame: SQLite does not report
  /// the commits behind that.
  ///
  /// A killed process leaves a WAL; a process that closes the file invalidates or removes it. The
  /// first process to open the file checks it, before SQLite does.
  func setAsideDamagedLog() throws {
    let log = "\(self.opener.path)-wal"
    guard let size = self.opener.files.size(of: log), size > 0 else { return }
    let isEmpty = self.opener.files.size(of: self.opener.path) == 0
    guard try isEmpty || DatabaseFiles.logMayHaveFrames(log) else { return }
    let isFirst = try self.file.checkAsFirst {
      try LogCheck.damage(
        of: self.opener.path, isEmpty: self.opener.files.size(of: self.opener.path) == 0,
        self.opener.migrations)
    } replace: { error, lock in
      try self.setAside(error, lock)
    }
    // SQLite would remove the WAL. A file that is being created is not empty any more when it has one.
    if !isFirst, isEmpty, self.opener.fileSize == 0, self.opener.files.size(of: log) ?? 0 > 0 {
      throw StorageError.damagedAndInUse(self.opener.kind, Self.emptied)
    }
  }

  /// Replaces a file that was in use and has no byte any more: a new one in its place would claim
  /// that there never was a mutation.
  func setAsideEmptied() throws {
    guard self.opener.fileSize == 0, self.wasInUse else { return }
    let isFirst = try self.file.asFirst { lock in
      if self.opener.fileSize == 0 { try self.setAside(Self.emptied, lock) }
    }
    if isFirst { return }
    // If another process has it open, that one is creating it; or both had it when it was emptied.
    let end = SuspendingClock.now + .milliseconds(500)
    var round: Int32 = 0
    while self.opener.fileSize == 0 {
      guard SuspendingClock.now < end else {
        throw StorageError.damagedAndInUse(self.opener.kind, Self.emptied)
      }
      LockWait.sleep(round: round)
      round += 1
    }
  }

  /// Whether something was committed in this folder: the files beside the database are made after
  /// that.
  private var wasInUse: Bool {
    let folder = self.opener.folder
    let kick = ChangeKick.path(kind: .mutations, folder: folder)
    return FileNumber(path: kick) != nil
      || ["owners", "bodies"].contains { FileNumber(path: "\(folder)/\($0)") != nil }
  }

  private static let emptied = StorageError(
    operation: "open", code: .corrupt,
    message: "the file is empty, and mutations were committed to it",
    fileName: DatabaseKind.mutations.fileName)

  private var salvage: OutboxSalvage { OutboxSalvage(folder: self.opener.folder, now: self.now) }

  func setAside(_ error: StorageError, _ lock: FileLock) throws {
    let files = self.file.setAside
    let name = try files.freeName(for: .corrupt)
    // From here on a killed process leaves a note of what to salvage.
    try self.salvage.begin(name)
    try files.run(.corrupt, as: name, holding: lock)
    self.tell(try self.salvage.finish(with: self.opener), of: error)
  }

  private func tell(_ salvaged: [(name: String, report: SalvageReport)], of error: StorageError) {
    for (name, report) in salvaged {
      let reason = StorageError(
        operation: error.operation, code: error.extendedCode,
        message: "\(error.message); \(report.words)", sql: error.sql, fileName: error.fileName)
      for partition in self.database.partitions {
        partition.hooks?.tell(.setAside(fileName: name, reason: reason))
      }
    }
  }
}

// MARK: - Failing

extension OutboxWriter {
  /// Reports that nothing can be written for now, and sets the next retry.
  func degrade(_ error: StorageError) { self.health.didFail(error) }

  /// Retries what failed, with a commit.
  func recover() {
    do {
      let connection = try self.usableConnection()
      if self.database.health.error?.code == .full { try self.requireRoom() }
      try connection.write { try connection.execute(Self.probe) }
      self.didWork()
      self.didWrite(connection)
    } catch {
      self.didFail(error)
    }
  }

  /// Changes a byte: SQLite does not write a page whose bytes stay the same.
  private static let probe: SQL = "UPDATE clock SET probe = (probe = 0) WHERE id = 1"

  /// A probe fits into the space that the WAL keeps on a full disk, and so proves nothing about
  /// larger writes.
  ///
  /// - Throws: `StorageError` (full).
  private func requireRoom() throws {
    guard let free = self.opener.files.freeBytes(in: self.opener.folder),
      free < Self.reservedFileBytes
    else { return }
    throw StorageError(
      operation: "write", code: .full, message: "the disk is full",
      fileName: DatabaseKind.mutations.fileName)
  }
}
