import FoundationEssentials
import Query

/// An eviction that is not at its end. It goes on in turns, between which the thread serves its
/// callers.
struct PendingEviction {
  let partition: CachePartition

  /// Where the last turn ended.
  var cursor = EvictionCursor()

  /// By how many entries the partition has grown since the last turn: one that is written again and again
  /// makes no turn longer.
  var grown = 0

  /// How many entries a turn removes, if nothing else comes and it has the time.
  static let rowsPerTurn = 200

  /// Begins the next turn, which on a slow disk removes fewer entries, but always more than come.
  func budget(on connection: SQLiteConnection) -> StepBudget {
    let usual = connection.stepBudget(rows: Self.rowsPerTurn)
    if 2 * self.grown <= usual.rows { return usual }
    return StepBudget(rows: 2 * self.grown, time: StepBudget.callersTime)
  }
}

// MARK: - Limits

extension CacheWriter {
  /// Notes that a commit has made a partition larger by so many entries. If it exceeds its limits, the
  /// least recently used entries are removed, until it has a tenth less than that.
  func didGrow(by count: Int, in partition: CachePartition) {
    if let index = self.evictions.firstIndex(where: { $0.partition === partition }) {
      self.evictions[index].grown += count
    } else if let row = partition.row, partition.limits.areExceeded(by: row.totals) {
      self.evictions.append(PendingEviction(partition: partition, grown: count))
    }
    // So many come at a time that nobody would be served between two turns anyway.
    let many = self.connection.map(Self.batch) ?? Self.maximumBatch
    if let first = self.evictions.first, first.grown >= many { self.evictInTurn() }
  }

  /// Whether there is something to evict, or to give back to the file system.
  var hasChores: Bool { !self.evictions.isEmpty || self.shrinking != nil }

  /// Does a part of what no caller waits for, in one transaction: evicts, and once that is at its end
  /// gives pages back to the file system.
  func doChores() {
    if !self.evictions.isEmpty {
      self.evictInTurn()
    } else if let partition = self.shrinking {
      self.shrinkInTurn(partition)
    }
  }

  /// Writes the uses, and does what is left of the chores when the file is closed, as far as it takes a
  /// moment. What remains is done by the next launch that writes.
  func finishChores() {
    let end = SuspendingClock.now + .milliseconds(100)
    repeat { self.writeUses() } while self.usesDue != nil && .now < end
    while self.hasChores, self.database.health.due == nil, .now < end { self.doChores() }
  }

  private func evictInTurn() {
    var pending = self.evictions.removeFirst()
    let begun = pending
    let partition = pending.partition
    guard partition.row != nil else { return }
    do {
      let connection = try self.usableConnection()
      var eviction = Eviction()
      try self.write(in: partition, connection) { changes in
        eviction = try changes.evict(
          pending.budget(on: connection), limits: partition.limits.withRoom, now: Date(),
          from: &pending.cursor, keeping: { partition.slots.existingSlot(for: $0) != nil })
        return !eviction.removed.isEmpty
      }
      let count = eviction.removed.count
      if count > 0 {
        partition.count { $0.evictions += count }
        partition.hub.send(.evicted(entries: count))
      }
      pending.grown = 0
      if eviction.hasMore { self.evictions.append(pending) }
      self.shrinking = partition
    } catch {
      if self.makesRoom(after: error) { return self.evictions.insert(begun, at: 0) }
      // The next entry that is written begins anew.
      self.didFail(error)
    }
  }

  private func shrinkInTurn(_ partition: CachePartition) {
    self.shrinking = nil
    guard let row = partition.row else { return }
    do {
      let connection = try self.usableConnection()
      let pages = try connection.writtenPages
      let tables = CacheTables(partition: row.id, on: connection)
      let step = try self.makingRoom { try tables.vacuumStep(pages: 200) }
      let written = try connection.writtenPages - pages
      partition.count { $0.bytesWritten += written * SQLiteConnection.frameBytes }
      self.didCommit(connection)
      if !step.isDone { self.shrinking = partition }
    } catch {
      self.didFail(error)
    }
  }
}

extension CacheChanges.Totals {
  /// By how many entries there are more than before: by so many of average size if they have grown.
  func growth(since before: Self) -> Int {
    let average = max(self.bytes / max(self.entries, 1), 1)
    return max(self.entries - before.entries, (self.bytes - before.bytes) / average, 0)
  }
}

extension CacheLimits {
  /// The limits that an eviction brings a partition down to, so that not every change evicts
  /// another.
  fileprivate var withRoom: CacheLimits {
    CacheLimits(
      entries: self.entries - self.entries / 10, bytes: self.bytes - self.bytes / 10)
  }
}
