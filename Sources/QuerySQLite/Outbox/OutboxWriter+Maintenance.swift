import FoundationEssentials
import Glibc
import Query

// MARK: - The WAL

extension OutboxWriter {
  /// The length that the WAL's file is given and keeps: the room of claims and settles on a full
  /// disk.
  static let reservedLogBytes = 256 << 10

  /// How much room a checkpoint leaves behind the last page of the file.
  static let reservedFileBytes = 1 << 20

  /// How many pages are written to the WAL before the writer checks again whether the file still
  /// has room for them.
  private static let pagesBetweenLooks = 128

  /// Adds what was written to the statistics.
  func countWritten(_ connection: SQLiteConnection) {
    guard let pages = try? connection.writtenPages, pages > self.countedPages else { return }
    self.database.count(bytesWritten: (pages - self.countedPages) * SQLiteConnection.frameBytes)
    self.countedPages = pages
  }

  /// Copies the WAL into the file if the WAL has become long, and schedules the rest.
  func didWrite(_ connection: SQLiteConnection) {
    self.countWritten(connection)
    self.keepLog { try $0.didCommit(connection) }
    if connection.walFrames > 0, !self.log.isBlocked, self.needsRoom(connection) {
      self.keepLog { try $0.checkpoint(connection) }
    }
  }

  /// Whether a checkpoint has to extend the file: what is written to the WAL until the writer
  /// checks again must fit into the file, on a disk that is full by then.
  private func needsRoom(_ connection: SQLiteConnection) -> Bool {
    if let looked = self.lookedForRoomAtPages,
      self.countedPages - looked < Self.pagesBetweenLooks
    {
      return false
    }
    self.lookedForRoomAtPages = self.countedPages
    let bytes = Self.reservedLogBytes + Self.pagesBetweenLooks << 12
    return (try? connection.hasRoom(for: bytes)) == false
  }

  /// Checkpoints, and retries for a moment if a reader is in the way, so that other processes can
  /// write in between: for a caller that cannot write before the WAL has room.
  func checkpointPatiently(_ connection: SQLiteConnection) {
    let end = SuspendingClock.now + .milliseconds(500)
    self.keepLog { try $0.checkpoint(connection) }
    while self.log.isBlocked, .now < end, self.connection === connection {
      usleep(5_000)
      self.keepLog { try $0.checkpoint(connection) }
    }
  }
}

extension OutboxWriter {
  /// Leaves no commit in the WAL at close, although its file stays: that keeps its length, and so
  /// everything that was ever in it.
  func emptyLog() {
    guard let connection = self.connection, (try? connection.isWALEmpty) == false else { return }
    self.keepLog { try $0.checkpoint(connection) }
  }

  /// Makes sure that the WAL, which another process may have left, is copied and emptied before
  /// long.
  func scheduleEmptyingLog(_ connection: SQLiteConnection) {
    guard self.log.due == nil, (try? connection.isWALEmpty) == false else { return }
    // To the schedule it is as if this process had just committed it.
    self.keepLog { try $0.didCommit(frames: 1, connection) }
  }
}

// MARK: - Other processes

extension OutboxWriter {
  /// Checks whether another process has written, or has moved the file away.
  func lookForOthers(_ now: SuspendingClock.Instant) {
    let mayHaveChanges = self.neighbours.look(self.connection, at: now) { isReported in
      if isReported || self.fileAtPath != nil { self.reopenWhereMoved() }
      return self.connection
    }
    guard mayHaveChanges else { return }
    for partition in self.database.partitions { self.lookForOthers(in: partition) }
  }

  private func lookForOthers(in partition: OutboxPartition) {
    guard let connection = self.connection else { return }
    do {
      guard let row = try OutboxPartitionRow.find(partition.name, on: connection) else { return }
      partition.send(self.noteRow(row, of: partition, ownChanges: 0))
    } catch {
      self.didFail(error)
    }
  }

  /// Finds what other processes have left over: they may have exited.
  func lookForLeftovers(_ now: SuspendingClock.Instant) {
    for partition in self.database.partitions {
      guard let look = self.leftovers.take(for: partition.name, now) else { continue }
      // One that was killed has not told of its last commit.
      self.lookForOthers(in: partition)
      self.findChores(of: partition)
      let younger = self.applyEffects(of: partition, upTo: look.lastSequence)
      self.leftovers.note(.now - now, for: partition.name)
      if let younger { self.leftovers.plan(for: partition.name, after: younger) }
    }
  }

  /// Reads a partition's row, so that later changes by other processes are noticed.
  func prepare(_ partition: OutboxPartition) {
    guard let connection = self.connection else { return }
    let row = try? OutboxPartitionRow.find(partition.name, on: connection)
    // A partition that does not exist yet has never changed.
    self.known[partition.name] = KnownPartition(
      revision: row?.revision ?? 0, epoch: row?.epoch ?? 0)
    if let row { partition.noteEnded(row.lastSequence) }
    self.applyEffects(of: partition)
    self.findChores(of: partition)
  }
}

// MARK: - Erasing

extension OutboxWriter {
  /// Removes all that a partition has, and then its bytes.
  ///
  /// - Throws: `StorageError`.
  func erase(_ partition: OutboxPartition) throws {
    do {
      let connection = try self.usableConnection()
      let now = self.now
      var changes = [PartitionChanges]()
      try connection.write {
        var change = try self.begin(partition, connection, now)
        try change.erase()
        try change.finish()
        changes = [PartitionChanges(partition, change)]
      }
      self.noteSuccess(of: changes)
      self.didCommit(connection, changes)
      self.didTell(changes)
      self.database.readers.suspend()
      defer { self.database.readers.reopen() }
      try self.finishErasing(connection, patience: self.configuration.erasePatience)
      self.neighbours.hasCommitted = true
      self.didWork()
    } catch {
      self.didFail(error)
      throw Self.storageError(error)
    }
  }

  /// Deletes the erased rows, and makes sure that no byte of them is in the file, its WAL, or the
  /// files that were set aside.
  ///
  /// - Throws: `StorageError`.
  func finishErasing(_ connection: SQLiteConnection, patience: Duration) throws {
    let erased = ErasedMutations(on: connection)
    let erasure = Erasure(
      connection: connection, deleteRows: erased.delete,
      didCommit: {
        for file in erased.takeBodyFiles() { self.bodies.remove(file) }
        self.didWrite(connection)
        // This may take longer than leases last.
        if let due = self.heartbeatDue, .now >= due { self.beat() }
      }, stepRows: self.configuration.stepRows)
    guard try erasure.isNeeded() else { return }
    // What is overwritten is found by the numbers of pages: a damaged one would lead to another account's rows.
    guard try connection.pragma("PRAGMA quick_check(1)") == "ok" else {
      throw StorageError(
        operation: "erase", code: .corrupt, message: "the file is damaged",
        fileName: self.opener.kind.fileName)
    }
    try self.file.setAside.removeAll()
    try erasure.finish(patience: patience)
    // Reserves again what the truncation has given back.
    try? connection.extendWAL(to: Self.reservedLogBytes)
  }
}
