import Foundation
import Query

// MARK: - Enqueueing

extension OutboxTransaction {
  /// Inserts a mutation, and leases it if the caller wants that and it may run now.
  ///
  /// - Throws: `OutboxError`; `StorageError`.
  mutating func enqueue(_ new: NewMutation, claiming: Bool) throws -> EnqueuedMutation {
    if !new.hasFreshID,
      try self.connection.first(Self.isKnown, new.id, read: { try $0.bool(at: 0) }) == true
    {
      throw StorageError(
        operation: "enqueue", code: .constraint,
        message: "there is a mutation of this identifier already",
        fileName: self.connection.fileName)
    }
    let targets = new.dependencies.isEmpty ? [] : try self.openDependencies(of: new)
    let old = try self.replaceable(new, targets)
    var row = OutboxRow(new, partition: self.partition.id, now: self.now)
    // Most rows may run at once, and are never written as pending.
    let owner = claiming ? self.terms.owner : nil
    if let owner, old == nil, targets.isEmpty, try self.mayRunAtOnce(new) {
      row.standing = self.leased(row.standing, by: owner)
    }
    try row.insert(on: self.connection)
    self.count(row.standing.state, 1)
    for target in targets { try self.insertDependency(of: row.number, on: target) }
    row.hasDependencies = !targets.isEmpty
    self.tell(.enqueued(row.id))
    if let old { try self.supersede(old, by: &row) }
    try self.refreshHead(&row, isNew: true)
    var lease: MutationLease?
    if row.standing.state == .leased {
      lease = self.beginAttempt(of: row, isReplay: false)
    } else if claiming, new.waitReason == nil, self.mayRun(row) {
      lease = try self.lease(&row, isReplay: false)
    }
    return EnqueuedMutation(entry: row.entry(self.view), lease: lease, superseded: old?.id)
  }

  /// ID: whether there is, or was, a mutation with it.
  private static let isKnown: SQL = """
    SELECT EXISTS (SELECT 1 FROM outbox WHERE id = ?1)
      OR EXISTS (SELECT 1 FROM history WHERE id = ?1)
    """

  /// Whether nothing blocks a new mutation without dependencies.
  private func mayRunAtOnce(_ new: NewMutation) throws -> Bool {
    guard new.waitReason == nil, self.partition.pausedAt == nil else { return false }
    guard let lane = new.lane else { return true }
    let head = try self.connection.first(LaneHeadRow.readOfLane, self.partition.id, lane) { _ in
      true
    }
    return head == nil
  }

  /// Whether a row may run now.
  func mayRun(_ row: OutboxRow) -> Bool {
    self.terms.owner != nil && self.partition.pausedAt == nil && row.isHead
      && row.isReady(self.now)
  }

  private mutating func insertDependency(of dependant: Int64, on target: Int64) throws {
    self.memory.isFreeOfDependencies = false
    try self.connection.execute(DependencyRow.insert, dependant, target)
  }

  /// Partition, lane.
  private static let lastOfLane: SQL = """
    SELECT number FROM outbox
    WHERE partition = ? AND lane = ? AND lane IS NOT NULL
      AND (state <> 'dead' OR on_failure = 'halt') AND state <> 'dead'
    ORDER BY number DESC LIMIT 1
    """

  /// The row that a new one replaces.
  private mutating func replaceable(
    _ new: NewMutation, _ targets: [Int64]
  ) throws -> OutboxRow? {
    guard new.coalesce == .latest, let lane = new.lane else { return nil }
    let number = try self.connection.first(Self.lastOfLane, self.partition.id, lane) {
      try $0.integer(at: 0)
    }
    guard let number, !targets.contains(number), let row = try self.row(number),
      new.replaces(name: row.name, instance: row.instance, row.standing),
      try !self.hasDependants(number)
    else { return nil }
    return row
  }

  private mutating func supersede(_ old: OutboxRow, by new: inout OutboxRow) throws {
    let targets = try self.connection.rows(DependencyRow.targets, old.number) {
      try $0.integer(at: 0)
    }
    for target in targets { try self.insertDependency(of: new.number, on: target) }
    new.hasDependencies = new.hasDependencies || !targets.isEmpty
    var ended = HistoryRow(old, .superseded, endedAt: self.nowAt)
    ended.successor = new.id
    try self.end(old, as: ended)
  }
}

// MARK: - Looking up

extension OutboxTransaction: OutboxLookup {
  func row(of id: UUID) throws -> Int64? { try self.row(id)?.number }

  func end(of id: UUID) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    let end = try self.connection.first(HistoryRow.readOutcome, self.partition.id, id) { row in
      (try row.text(at: 0), row.isNull(at: 1) ? nil : try row.uuid(at: 1))
    }
    guard let end, let outcome = RecordedMutation.Outcome(rawValue: end.0) else { return nil }
    return (outcome, end.1)
  }
}
