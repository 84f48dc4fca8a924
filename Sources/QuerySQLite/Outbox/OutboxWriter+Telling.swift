import Foundation
import Query

// MARK: - After a commit

extension OutboxWriter {
  /// Records a commit that callers may have waited for.
  func noteSuccess(of changes: [(partition: OutboxPartition, changes: OutboxTransaction)]) {
    guard changes.contains(where: \.changes.outcome.isChanged) else { return }
    self.database.countCommit()
    self.didWork()
  }

  /// Records the changes of a commit that only this thread needs to know.
  func didCommit(
    _ connection: SQLiteConnection,
    _ changes: [(partition: OutboxPartition, changes: OutboxTransaction)]
  ) {
    var isChanged = false
    for (partition, change) in changes {
      isChanged = isChanged || change.outcome.isChanged
      for (number, revocation) in change.outcome.revocations {
        guard let lease = self.leases[number]?.lease else { continue }
        self.revocations.append((lease, revocation))
      }
      for number in change.outcome.endedLeases { self.leases[number] = nil }
      for (number, leased) in change.outcome.leases {
        self.leases[number] = HeldLease(leased: leased, partition: partition)
      }
      if change.outcome.hasPrunedByAge {
        self.historyAgeSeenAt[partition.name] = change.nowAt
      }
      self.chores.add(change.outcome, of: partition)
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
  func didTell(_ changes: [(partition: OutboxPartition, changes: OutboxTransaction)]) {
    let revocations = self.revocations
    self.revocations = []
    for (lease, revocation) in revocations { lease.revoke(revocation) }
    for (partition, change) in changes {
      let outcome = change.outcome
      let own: Int64 = outcome.isChanged ? 1 : 0
      var events = self.noteRow(
        change.partition, of: partition, ownChanges: own, isErasedHere: outcome.hasErased)
      events += outcome.events
      partition.send(events)
      for file in outcome.bodyFiles { self.bodies.remove(file) }
      if outcome.hasEffects { self.applyEffects(of: partition) }
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
    let known = self.known[partition.name]
    self.known[partition.name] = KnownPartition(revision: row.revision, epoch: row.epoch)
    guard let known else { return [] }
    if row.epoch != known.epoch, !isErasedHere {
      self.loseLeases { $0.partition === partition && $0.lease.epoch != Int(row.epoch) }
      return [.erased]
    }
    return row.revision &- ownChanges == known.revision ? [] : [.changedByAnotherProcess]
  }
}
