import Foundation
import Query

// MARK: - The log

extension OutboxWriter {
  /// How long the log's file is made, and stays: so much room claims and settles have on a full disk.
  static let reservedLogBytes = 256 << 10

  /// Copies the log into the file where it has become long, and sets the time for the rest.
  func didWrite(_ connection: SQLiteConnection) {
    if let pages = try? connection.writtenPages, pages > self.countedPages {
      self.database.count(bytesWritten: (pages - self.countedPages) * CacheWriter.frameBytes)
      self.countedPages = pages
    }
    self.reserveRoom(connection)
    if let due = self.blockedCheckpointDue, .now < due { return }
    if connection.walFrames > self.configuration.checkpointFrames { self.checkpoint(connection) }
    if self.blockedCheckpointDue != nil { return }
    self.checkpointDue = connection.walFrames > 0 ? .now + .seconds(1) : nil
  }

  /// Makes the file long enough for what the log may be given, and for what follows until this is done
  /// again.
  private func reserveRoom(_ connection: SQLiteConnection) {
    let pause = 128
    if let reserved = self.reservedAtPages, self.countedPages - reserved < pause { return }
    // Where there is none now, there is what was reserved before.
    guard (try? connection.reserveRoom(for: Self.reservedLogBytes + pause << 12)) != nil else {
      return
    }
    self.reservedAtPages = self.countedPages
  }

  /// Copies the log into the file, so that the next commit writes it from its beginning. Never
  /// passive; while it waits for a reader it keeps the write lock, so it does not wait long.
  func checkpoint(_ connection: SQLiteConnection) {
    (self.checkpointDue, self.blockedCheckpointDue) = (nil, nil)
    do {
      let start = SuspendingClock.now
      let result = try connection.checkpoint(.restart, patience: .milliseconds(500))
      self.staleFrames = result.walFrames
      // Some readers make it busy, and not interrupted, after the same wait.
      if !result.isComplete, start.duration(to: .now) > .milliseconds(100) {
        self.postponeCheckpoint()
      }
    } catch {
      if error.isOutboxDamage { return self.didFail(error) }
      self.postponeCheckpoint()
    }
  }

  private func postponeCheckpoint() {
    self.blockedCheckpointDue = .now + .seconds(5)
    self.checkpointDue = self.blockedCheckpointDue
  }
}

extension OutboxWriter {
  /// So many frames of the log are read by who opens the file next without anybody noticing.
  private static let fewFrames = 100

  /// Begins the log anew, where who opens the file next would read much of it: it keeps its length, and
  /// so all that was ever in it.
  func shortenLog() {
    guard let connection = self.connection,
      max(connection.walFrames, self.staleFrames) > Self.fewFrames
    else { return }
    self.checkpoint(connection)
    try? connection.write { try connection.execute(Self.probe) }
  }
}

// MARK: - Other processes

extension OutboxWriter {
  /// Tells other processes of what was committed.
  func tellOthers() {
    if self.mustKick { self.kick.kick() }
    self.mustKick = false
  }

  /// Looks whether another process has written.
  func lookForOthers(_ now: SuspendingClock.Instant) {
    guard let connection = self.connection else { return }
    if let watch = self.watch {
      if now < self.lookDue { return }
      let changes = watch.drain()
      if changes.isEmpty { return }
      self.lookDue = now + .milliseconds(20)
      if changes.contains(.ended) { self.watch = nil }
      if changes.contains(.databaseMoved) { self.reopenWhereMoved() }
    } else {
      guard now >= self.pollDue else { return }
      self.pollDue = now + .seconds(1)
      guard let version = try? connection.dataVersion, version != self.lastDataVersion else {
        return
      }
      self.lastDataVersion = version
    }
    for partition in self.database.partitions { self.lookForOthers(in: partition) }
  }

  private func lookForOthers(in partition: OutboxPartition) {
    guard let connection = self.connection else { return }
    do {
      let row = try connection.first(OutboxPartitionRow.read, partition.name) {
        try OutboxPartitionRow($0)
      }
      guard let row else { return }
      partition.send(self.noteRow(row, of: partition, ownChanges: 0))
    } catch {
      self.didFail(error)
    }
  }

  /// Learns what a partition's row is, so that later changes of others are noticed.
  func prepare(_ partition: OutboxPartition) {
    guard let connection = self.connection else { return }
    let row = try? connection.first(OutboxPartitionRow.read, partition.name) {
      try OutboxPartitionRow($0)
    }
    // One that is not there yet has never changed.
    self.known[partition.name] = KnownPartition(
      revision: row?.revision ?? 0, epoch: row?.epoch ?? 0)
    self.applyEffects(of: partition)
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
      var changes = [(partition: OutboxPartition, changes: OutboxTransaction)]()
      try connection.write {
        var change = try self.begin(partition, connection, now)
        try change.erase()
        try change.finish()
        changes = [(partition, change)]
      }
      self.noteSuccess(of: changes)
      self.didCommit(connection, changes)
      self.didTell(changes)
      self.database.readers.suspend()
      defer { self.database.readers.reopen() }
      try SetAside(kind: .mutations, folder: self.opener.folder).removeAll()
      try self.finishErasing(connection, patience: self.configuration.erasePatience)
      self.mustKick = true
      self.didWork()
    } catch {
      self.didFail(error)
      throw Self.storageError(error)
    }
  }

  /// Partitions that are being erased.
  private static let erasing: SQL = "SELECT id, epoch FROM partitions WHERE is_erasing <> 0"

  /// Makes sure that no byte of what was erased is in the file or its log.
  ///
  /// - Throws: `StorageError`.
  func finishErasing(_ connection: SQLiteConnection, patience: Duration) throws {
    let erased = try connection.rows(Self.erasing) {
      (id: try $0.integer(at: 0), epoch: try $0.integer(at: 1))
    }
    if erased.isEmpty { return }
    // What stands behind the end of what the file holds is of what was erased.
    try connection.giveUpRoom()
    try connection.scrub(patience: patience)
    try connection.write {
      for (id, epoch) in erased {
        try connection.execute(OutboxPartitionRow.endErasing, id, epoch)
      }
    }
    // What the truncation has given back.
    try? connection.extendWAL(to: Self.reservedLogBytes)
  }
}
