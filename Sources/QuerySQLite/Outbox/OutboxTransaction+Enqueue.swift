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
    let targets = try self.targets(of: new.dependencies)
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

  /// The rows that must succeed first.
  private func targets(of ids: [UUID]) throws -> Set<Int64> {
    var targets = Set<Int64>()
    var unknown = [UUID]()
    var ended: UUID?
    for id in ids {
      var next: UUID? = id
      // A chain of superseded rows ends with a live one, or one that ended otherwise.
      while let current = next {
        next = nil
        if let row = try self.row(current) {
          targets.insert(row.number)
          continue
        }
        let end = try self.connection.first(
          HistoryRow.readOutcome, self.partition.id, current
        ) { row in
          (try row.text(at: 0), row.isNull(at: 1) ? nil : try row.uuid(at: 1))
        }
        switch end.flatMap({ RecordedMutation.Outcome(rawValue: $0.0) }) {
        case nil: unknown.append(id)
        case .succeeded: break
        case .superseded: next = end?.1
        case .cancelled, .discarded: ended = ended ?? id
        }
      }
    }
    if !unknown.isEmpty {
      var seen = Set<UUID>()
      throw OutboxError.unknownDependencies(unknown.filter { seen.insert($0).inserted })
    }
    if let ended { throw OutboxError.ended(ended) }
    return targets
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
    _ new: NewMutation, _ targets: Set<Int64>
  ) throws -> OutboxRow? {
    guard new.coalesce == .latest, let lane = new.lane else { return nil }
    let number = try self.connection.first(Self.lastOfLane, self.partition.id, lane) {
      try $0.integer(at: 0)
    }
    guard let number, !targets.contains(number), let row = try self.row(number),
      row.name == new.name, row.instance == new.instance, row.standing.state == .pending,
      row.standing.attempts == 0
    else { return nil }
    return try self.hasDependants(number) ? nil : row
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
