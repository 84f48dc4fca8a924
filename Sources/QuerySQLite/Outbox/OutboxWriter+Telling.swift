import FoundationEssentials
import Query

// MARK: - After a commit

extension OutboxWriter {
  /// Records a commit that callers may have waited for.
  func noteSuccess(of changes: [PartitionChanges]) {
    guard changes.contains(where: { $0.changes.outcome.isChanged }) else { return }
    self.database.countCommit()
    self.didWork()
  }

  /// Records the changes of a commit that only this thread needs to know.
  func didCommit(_ connection: SQLiteConnection, _ changes: [PartitionChanges]) {
    var isChanged = false
    for change in changes { change.changes.releaseLeases() }
    for change in changes {
      let partition = change.partition
      isChanged = isChanged || change.changes.outcome.isChanged
      for (number, revocation) in change.changes.outcome.revocations {
        guard let lease = self.leases[number]?.lease else { continue }
        self.revocations.append((lease, revocation))
      }
      for number in change.changes.outcome.endedLeases { self.leases[number] = nil }
      for (number, leased) in change.changes.outcome.leases {
        if let earlier = self.leases[number]?.lease, earlier !== leased.lease {
          self.revocations.append((earlier, .lost))
        }
        self.leases[number] = HeldLease(leased: leased, partition: partition)
        if let end = leased.row.standing.lease?.endMonotonic { self.limit(leased.lease, to: end) }
      }
      if change.changes.outcome.hasPrunedByAge {
        self.historyAgeSeenAt[partition.name] = change.changes.nowAt
      }
      self.chores.add(change.changes.outcome, of: partition)
      self.scheduleExpiry(of: partition, change.changes)
    }
    if self.leases.isEmpty {
      self.heartbeatDue = nil
    } else if self.heartbeatDue == nil {
      self.heartbeatDue = .now + self.heartbeatInterval
    }
    guard isChanged else { return }
    self.isOwnerRecorded = self.owner != nil
    self.didClearEffects()
    if let now = changes.first?.changes.now, now.isSynchronised {
      let wall = now.wall.microsecondsSince1970
      if wall > (self.synchronisedAt ?? .min).clampedSum(3_600_000_000) {
        self.synchronisedAt = wall
      }
    }
    self.neighbours.hasCommitted = true
  }

  /// Reports what was committed, and does the work that no caller waits for.
  ///
  /// - Parameter instant: When the callers were told.
  func didTell(_ changes: [PartitionChanges], at instant: ContinuousClock.Instant = .now) {
    let revocations = self.revocations
    self.revocations = []
    for (lease, revocation) in revocations { lease.revoke(revocation) }
    for change in changes {
      let (partition, outcome) = (change.partition, change.changes.outcome)
      let own: Int64 = outcome.isChanged ? 1 : 0
      let others = self.noteRow(
        change.changes.partition, of: partition, ownChanges: own,
        isErasedHere: outcome.hasErased)
      partition.send(others.isEmpty ? outcome.events : others + outcome.events)
      for file in outcome.bodyFiles { self.bodies.remove(file) }
      if outcome.hasEffects { self.applyEffects(of: partition, at: instant) }
      if let edits = outcome.editsToCheck { self.check(edits, of: partition) }
      if outcome.hasReaped { self.findChores(of: partition) }
    }
    if let connection = self.connection { self.didWrite(connection) }
  }

  /// Compares the row of a partition with its last known state.
  ///
  /// - Returns: What another process has done since.
  func noteRow(
    _ row: OutboxPartitionRow,
    of partition: OutboxPartition,
    ownChanges: Int64,
    isErasedHere: Bool = false
  ) -> [OutboxEvent] {
    partition.noteEnded(row.lastSequence)
    let known = self.known[partition.name]
    self.known[partition.name] = KnownPartition(revision: row.revision, epoch: row.epoch)
    guard let known else { return [] }
    if row.epoch != known.epoch, !isErasedHere {
      self.loseLeases { $0.partition === partition && $0.lease.epoch != Int(row.epoch) }
      return [.erased]
    }
    if row.revision &- ownChanges == known.revision { return [] }
    self.revokeCancelled()
    self.leftovers.plan(for: partition.name, after: row.lastSequence)
    return [.changedByAnotherProcess]
  }
}

// MARK: - Effects

extension OutboxWriter {
  /// Invalidates what successes have made stale in the cache. A row's effects are cleared with some
  /// later commit; if this process dies before, the next one invalidates again.
  ///
  /// - Parameters:
  ///   - partition: The partition.
  ///   - instant: When it is invalidated: later fetches bring newer values.
  ///   - lastSequence: Only those of this success and of earlier ones.
  /// - Returns: The newest one of the others.
  @discardableResult
  func applyEffects(
    of partition: OutboxPartition, at instant: ContinuousClock.Instant = .now,
    upTo lastSequence: Int64 = .max
  ) -> Int64? {
    guard let connection = self.connection, let hooks = partition.hooks else { return nil }
    do {
      let rows = try connection.read {
        guard let row = try OutboxPartitionRow.find(partition.name, on: connection) else {
          return [StoredEffects]()
        }
        return try connection.rows(HistoryRow.readEffects, row.id) {
          StoredEffects(sequence: try $0.integer(at: 0), text: try $0.text(at: 1))
        }
      }
      let known = self.effectsInFlight.union(self.effectsDone)
      let unknown = rows.filter { !known.contains($0) }
      let new = unknown.filter { $0.sequence <= lastSequence }
      let younger = unknown.lazy.map(\.sequence).filter { $0 > lastSequence }.max()
      if new.isEmpty { return younger }
      self.effectsInFlight.formUnion(new)
      let effects = new.map { OutboxEffects($0.text) }
      let prefixes = effects.flatMap(\.prefixes)
      let edits = effects.flatMap(\.edits)
      let didApply: @Sendable (Bool) -> Void = { [weak database] isWritten in
        database?.thread.perform { $0.didApply(new, isWritten) }
      }
      if edits.isEmpty {
        hooks.invalidate(prefixes, instant, didApply)
      } else {
        hooks.missing(edits) { missing in
          guard let missing else { return didApply(false) }
          hooks.invalidate(prefixes + missing.flatMap(\.paths.prefixes), instant, didApply)
        }
      }
      return younger
    } catch {
      self.didFail(error)
      return nil
    }
  }

  private func didApply(_ effects: [StoredEffects], _ isWritten: Bool) {
    self.effectsInFlight.subtract(effects)
    guard isWritten else { return }
    self.effectsDone += effects
    if self.effectsDue == nil { self.effectsDue = .now + .seconds(1) }
  }

  /// The effects that one transaction clears, since the cache has them.
  var effectsToClear: ArraySlice<StoredEffects> { self.effectsDone.prefix(200) }

  /// Records that ``effectsToClear`` is written.
  func didClearEffects() {
    if self.effectsDone.isEmpty { return }
    self.effectsDone.removeFirst(self.effectsToClear.count)
    self.effectsDue = self.effectsDone.isEmpty ? nil : .now + .milliseconds(10)
  }

  /// Clears effects that the cache has, if no other commit has.
  func clearEffects() {
    self.effectsDue = nil
    guard !self.effectsDone.isEmpty, let connection = self.connection else { return }
    do {
      try connection.write {
        for effects in self.effectsToClear {
          try connection.execute(HistoryRow.clearEffects, effects.sequence, effects.text)
        }
      }
      self.didClearEffects()
      self.didWrite(connection)
    } catch {
      // They are applied again at the next opening.
      self.didFail(error)
    }
  }
}
