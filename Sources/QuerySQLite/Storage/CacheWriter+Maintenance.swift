import Foundation
import Query

// MARK: - Limits

extension CacheWriter {
  /// How many entries are evicted in one transaction.
  private static let evictionBatch = 200

  /// Removes what was not used for longest, where a partition has more than it may, until it has a
  /// tenth less than that.
  func evict(from partition: CachePartition) {
    guard let row = partition.row, partition.limits.areExceeded(by: row.totals) else { return }
    let living = Set(partition.slots.all.map { XXH128(hashing: $0.identity.text) })
    var cursor = EvictionCursor()
    do {
      let connection = try self.usableConnection()
      var eviction = Eviction()
      repeat {
        try self.write(in: partition, connection) { changes in
          eviction = try changes.evict(
            upTo: Self.evictionBatch, limits: partition.limits.withRoom, now: Date(),
            from: &cursor, keeping: { living.contains($0) })
          return !eviction.removed.isEmpty
        }
        let count = eviction.removed.count
        if count > 0 {
          partition.count { $0.evictions += count }
          partition.hub.send(.evicted(entries: count))
        }
      } while eviction.hasMore
      let pages = try connection.writtenPages
      try self.shrinkFile(connection, of: CacheTables(partition: row.id, on: connection))
      let written = try connection.writtenPages - pages
      partition.count { $0.bytesWritten += written * Self.frameBytes }
    } catch {
      self.didFail(error)
    }
  }

  /// Gives the pages that are free back, a few in each transaction.
  private func shrinkFile(_ connection: SQLiteConnection, of tables: CacheTables) throws {
    let pages = 1_000
    while try connection.write({ try tables.vacuum(pages: pages) }) == pages {
      self.didCommit(connection)
    }
    self.didCommit(connection)
  }

  /// How many uses are written in one transaction.
  private static let usesBatch = 1_000

  /// Writes down what was used, for the order of eviction.
  func writeUses() {
    self.usesDue = nil
    for partition in self.database.partitions {
      let uses = partition.takeUses()
      if uses.isEmpty { continue }
      do {
        let connection = try self.usableConnection()
        // A few at a time, so that others can write between them.
        for start in stride(from: 0, to: uses.count, by: Self.usesBatch) {
          try self.write(in: partition, connection) { changes in
            try changes.recordUses(Array(uses[start...].prefix(Self.usesBatch)))
            return true
          }
        }
      } catch {
        // They are of no use to anybody but an eviction.
        self.didFail(error)
      }
    }
  }
}

extension CacheLimits {
  /// What is left of a partition that had more than it may, so that not every change evicts another.
  fileprivate var withRoom: CacheLimits {
    CacheLimits(
      entries: self.entries - self.entries / 10, bytes: self.bytes - self.bytes / 10)
  }
}

// MARK: - The log

extension CacheWriter {
  /// Copies the log into the file where it has become long, and sets the time for the rest.
  func didCommit(_ connection: SQLiteConnection) {
    // Where a reader was in the way, not every commit waits for it, and all other writers with it.
    if let due = self.blockedCheckpointDue, .now < due { return }
    if connection.walFrames > self.configuration.checkpointFrames { self.checkpoint(connection) }
    if self.blockedCheckpointDue != nil { return }
    self.checkpointDue = connection.walFrames > 0 ? .now + .seconds(1) : nil
  }

  /// Copies the log into the file, so that the next commit writes it from its beginning.
  private func checkpoint(_ connection: SQLiteConnection) {
    (self.checkpointDue, self.blockedCheckpointDue) = (nil, nil)
    do {
      // Never passive. While it waits for a reader it keeps the write lock, so it does not wait long;
      // what it leaves is done later.
      let start = SuspendingClock.now
      let result = try connection.checkpoint(.restart, patience: .milliseconds(500))
      // Some readers make it busy, and not interrupted, after the same wait.
      if !result.isComplete, start.duration(to: .now) > .milliseconds(100) {
        self.postponeCheckpoint()
      }
    } catch {
      if error.isDamage { return self.didFail(error) }
      self.postponeCheckpoint()
    }
  }

  private func postponeCheckpoint() {
    self.blockedCheckpointDue = .now + .seconds(5)
    self.checkpointDue = self.blockedCheckpointDue
  }

  /// Does what has to be done now and then.
  func maintain(_ now: SuspendingClock.Instant) {
    if self.usesDue == nil, self.database.partitions.contains(where: \.hasUses) {
      self.usesDue = now + .seconds(60)
    }
    if let due = self.usesDue, now >= due { self.writeUses() }
    if let due = self.checkpointDue, now >= due, let connection = self.connection {
      self.checkpoint(connection)
    }
  }
}

// MARK: - Erasing

extension CacheWriter {
  /// Removes all rows of a partition, and then their bytes.
  ///
  /// - Throws: `StorageError`.
  func erase(_ partition: CachePartition) throws {
    do {
      let connection = try self.usableConnection()
      guard let id = partition.row?.id else { throw CacheDatabase.closed }
      self.database.removeInvalidations(of: partition)
      let tables = CacheTables(partition: id, on: connection)
      try connection.write {
        var changes = try tables.begin()
        try changes.eraseRows()
        _ = try changes.finish()
      }
      self.prepare([partition])
      _ = partition.takeUses()
      // Our own readers are not to be in the way.
      self.database.readers.suspend()
      defer { self.database.readers.reopen() }
      try self.files.removeAll()
      try tables.finishErasing(patience: self.configuration.erasePatience)
      self.prepare([partition])
      self.mustKick = true
      self.didWork()
    } catch {
      self.didFail(error)
      throw StorageError(any: error, operation: "erase")
    }
  }
}

// MARK: - Other processes

extension CacheWriter {
  /// Tells other processes of what was committed.
  func tellOthers() {
    if self.mustKick { self.kick.kick() }
    self.mustKick = false
  }

  /// Looks whether another process has written, or has moved the file away.
  func lookForOthers(_ now: SuspendingClock.Instant) {
    guard let connection = self.connection else { return }
    if let watch = self.watch {
      if now < self.lookDue { return }
      let changes = watch.drain()
      if !changes.isEmpty { self.lookDue = now + .milliseconds(20) }
      if changes.contains(.ended) { self.watch = nil }
      if changes.isEmpty { return }
    } else {
      guard now >= self.pollDue else { return }
      self.pollDue = now + .seconds(1)
      guard let version = try? connection.dataVersion, version != self.lastDataVersion else {
        return
      }
      self.lastDataVersion = version
    }
    for partition in self.database.partitions { self.lookForOthers(in: partition, connection) }
  }

  private func lookForOthers(in partition: CachePartition, _ connection: SQLiteConnection) {
    guard let known = partition.row else { return }
    let own = self.ownRevisions.removeValue(forKey: partition.name) ?? []
    do {
      let tables = CacheTables(partition: known.id, on: connection)
      let row = try connection.read { try tables.readPartition() }
      if row.epoch != known.epoch {
        self.didFindErased(partition)
        return
      }
      let seen = self.seenRevisions[partition.name] ?? 0
      self.seenRevisions[partition.name] = row.revision
      partition.row = row
      // Most often it was this process.
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
    guard self.configuration.followsOtherProcesses,
      let slot = partition.slots.existingSlot(for: identity), slot.isAlive,
      case .entry(let entry)? = try? tables.read(identity)
    else { return }
    slot.takeOver(entry)
  }
}
