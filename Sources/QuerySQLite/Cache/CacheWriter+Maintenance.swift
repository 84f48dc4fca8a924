import FoundationEssentials
import Query

// MARK: - Uses

extension CacheWriter {
  /// How often uses are postponed before some of them are written beside changes that never end.
  private static let longestPostponement = 1_000

  /// Writes uses unless changes wait, which go first: there may be very many uses, and nobody waits for them.
  private func writeUsesIfIdle(_ now: SuspendingClock.Instant) {
    if self.database.queuedCount > 0, self.usesPostponed < Self.longestPostponement {
      self.usesPostponed += 1
      self.usesDue = now + LockWait.longestSleep
    } else {
      self.usesPostponed = 0
      self.writeUses()
    }
  }

  /// Writes down which entries were used, for the order of eviction, in one transaction for each
  /// partition. What remains is due soon. Uses alone are no reason to write: a launch that only reads
  /// leaves the file as it was, and evicts nothing.
  func writeUses() {
    self.usesDue = nil
    guard self.hasWritten else { return }
    self.hasWritten = false
    for partition in self.database.partitions {
      let uses = partition.takeUses()
      if uses.isEmpty { continue }
      do {
        let connection = try self.usableConnection()
        var count = 0
        try self.makingRoom {
          try self.write(in: partition, connection) { changes in
            let newest = changes.totals
            count = try changes.recordUses(
              uses, connection.stepBudget(rows: self.configuration.stepRows))
            return changes.totals != newest
          }
        }
        partition.putBack(uses: uses.dropFirst(count))
      } catch {
        // Only an eviction needs them.
        self.didFail(error)
      }
    }
    let hasMore = self.database.partitions.contains(where: \.hasUses)
    self.hasWritten = hasMore
    if hasMore { self.usesDue = .now + LockWait.longestSleep }
  }
}

// MARK: - The WAL

extension CacheWriter {
  /// Makes room in the WAL if the disk is full: what is copied to the database is written over by the next
  /// commit, which needs no room then, unless it is larger than all of the WAL.
  ///
  /// - Returns: Whether a retry is worthwhile.
  func makesRoom(after error: any Error) -> Bool {
    guard let connection = self.connection, connection.walFrames > 0, self.isFull(error) else {
      return false
    }
    self.keepLog { try $0.checkpoint(connection) }
    return self.connection === connection && connection.walFrames == 0
  }

  /// Runs what writes, and anew for as long as that makes room on a full disk for what it has left.
  @discardableResult
  func makingRoom<R>(_ write: () throws -> R) throws -> R {
    while true {
      do { return try write() } catch {
        guard self.makesRoom(after: error) else { throw error }
      }
    }
  }

  /// Whether a write failed since the disk is full.
  func isFull(_ error: any Error) -> Bool {
    StorageError(any: error, operation: "write").code == .full
  }

  /// Checkpoints if the WAL has become long.
  func didCommit(_ connection: SQLiteConnection) { self.keepLog { try $0.didCommit(connection) } }

  /// Does the periodic work.
  func maintain(_ now: SuspendingClock.Instant) {
    if self.usesDue == nil, self.hasWritten, self.database.partitions.contains(where: \.hasUses) {
      self.usesDue = now + .seconds(60)
    }
    if let due = self.usesDue, now >= due { self.writeUsesIfIdle(now) }
    self.keepLog { try $0.checkpointIfDue(self.connection, now) }
    self.reserveRoom()
  }

  /// While the disk is nearly full, keeps the room that removals need once it is full: an empty WAL is made
  /// as long as that of an entry, and the next checkpoints leave room for what they copy later.
  private func reserveRoom() {
    guard let connection = self.connection, connection.walFrames == 0,
      let pages = try? connection.writtenPages, pages != self.lookedForRoomAtPages
    else { return }
    self.lookedForRoomAtPages = pages
    let free = self.file.opener.files.freeBytes(in: self.file.opener.folder)
    let isNearlyFull = free.map { $0 < Self.nearlyFullBytes } ?? false
    connection.reservedBytes = isNearlyFull ? Self.reservedFileBytes : 0
    guard isNearlyFull else { return }
    // If there is no room for it now, there was none before either.
    try? connection.extendWAL(to: Self.reservedLogBytes)
  }

  /// Below how many free bytes a disk is nearly full.
  private static let nearlyFullBytes = 64 << 20

  /// The length of 31 frames. A removal writes about a dozen, few more if its value is large.
  private static let reservedLogBytes = 128 << 10

  /// How much room a checkpoint leaves behind the last page of the file.
  private static let reservedFileBytes = 1 << 20
}

// MARK: - Erasing

extension CacheWriter {
  /// Removes all rows of a partition, and then their bytes.
  ///
  /// - Throws: `StorageError`.
  func erase(_ partition: CachePartition) throws {
    do {
      let connection = try self.usableConnection()
      _ = try self.row(of: partition, connection)
      self.database.removeInvalidations(of: partition)
      let tables = try self.makingRoom {
        try connection.write {
          try CacheTables.current(named: partition.name, on: connection).beginErasing()
        }
      }
      self.prepare([partition])
      partition.dropUses()
      // This process's own readers must not be in the way.
      self.database.readers.suspend()
      defer { self.database.readers.reopen() }
      partition.tellOfPacks()
      try self.finishErasing(tables, patience: self.configuration.erasePatience)
      self.prepare([partition])
      self.neighbours.hasCommitted = true
      self.didWork()
    } catch {
      self.didFail(error)
      throw StorageError(any: error, operation: "erase")
    }
  }

  /// Makes sure that no erased byte is in the file, its WAL, or the files that were set aside.
  ///
  /// - Throws: `StorageError`.
  func finishErasing(_ tables: CacheTables, patience: Duration) throws {
    try self.file.setAside.removeAll()
    var rows = self.configuration.stepRows
    while true {
      do {
        return try self.makingRoom {
          try tables.finishErasing(patience: patience, stepRows: rows) {
            self.didCommit(tables.connection)
          }
        }
      } catch {
        guard self.isFull(error), rows > 1 else { throw error }
        rows = max(1, rows / 8)
      }
    }
  }
}

// MARK: - Other processes

extension CacheWriter {
  /// Checks whether another process has written, or has moved the file away.
  func lookForOthers(_ now: SuspendingClock.Instant) {
    let mayHaveChanges = self.neighbours.look(self.connection, at: now) { _ in
      self.followToNewFile()
      return self.connection
    }
    guard mayHaveChanges, let connection = self.connection else { return }
    for partition in self.database.partitions {
      self.lookForOthers(in: partition, connection)
      partition.tellOfPacks()
    }
  }

  /// Notes revisions that this process has written, those that follow one another as one range: while it is
  /// alone, nothing takes them away.
  func noteOwnRevisions(_ revisions: ClosedRange<Int64>, in partition: CachePartition) {
    var own = self.ownRevisions[partition.name] ?? []
    if let last = own.last, last.upperBound + 1 == revisions.lowerBound {
      own[own.count - 1] = last.lowerBound...revisions.upperBound
    } else {
      own.append(revisions)
    }
    self.ownRevisions[partition.name] = own
  }

  /// Goes on with another file that is at the path. If there is none, a process that only reads
  /// creates none: another process may be removing everything.
  private func followToNewFile() {
    if self.fileAtPath != nil { self.reopenWhereMoved() }
  }

  private func lookForOthers(in partition: CachePartition, _ connection: SQLiteConnection) {
    guard let known = partition.row else { return }
    let own = self.ownRevisions.removeValue(forKey: partition.name) ?? []
    do {
      let found = try CacheTables.existingWithRow(named: partition.name, on: connection)
      guard let (tables, row) = found, row.id == known.id, row.epoch == known.epoch else {
        self.didFindErased(partition)
        return
      }
      let seen = self.seenRevisions[partition.name] ?? 0
      self.seenRevisions[partition.name] = row.revision
      partition.row = row
      // Most often this process has made all of the changes.
      if own.reduce(seen, { $1.lowerBound == $0 + 1 ? $1.upperBound : $0 }) == row.revision {
        return
      }
      let changed = try connection.read { try tables.changes(after: seen) }
      for (identity, revision) in changed where !own.contains(where: { $0.contains(revision) }) {
        self.didChange(identity, in: partition, tables)
      }
    } catch {
      self.didFail(error)
    }
  }

  private func didChange(
    _ identity: QueryIdentity,
    in partition: CachePartition,
    _ tables: CacheTables
  ) {
    partition.forgetPrefetched(identity)
    partition.hub.send(.changedByAnotherProcess(identity))
    if let slot = partition.slots.existingSlot(for: identity) {
      self.passOn(slot, in: partition, tables)
    }
  }

  /// Passes the entry that another process has written to the stores that live here, if they follow.
  private func passOn(_ slot: StorageSlot, in partition: CachePartition, _ tables: CacheTables) {
    // A store that is made while everything is removed reads what is left.
    guard self.configuration.followsOtherProcesses, slot.isAlive, !partition.isErasing,
      case .entry(let entry)? = try? tables.read(slot.identity)
    else { return }
    slot.takeOver(entry)
  }

  /// Passes on a value of another process in the place of which nothing was written. It may have come while
  /// the stores had a change that waited, which is why they did not take it.
  func passOn(_ slot: StorageSlot, in partition: CachePartition) {
    guard let connection, let row = partition.row else { return }
    self.passOn(slot, in: partition, CacheTables(partition: row.id, on: connection))
  }
}
