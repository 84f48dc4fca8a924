import Foundation
import Query

/// Writes what was read of a damaged outbox into a new one, in one write transaction of its caller's.
///
/// Rows keep their numbers, and so their order. What ran is pending, and may have been carried out; what
/// is not as it was enqueued is dead, as is what depends on a mutation that cannot be read.
struct OutboxRestoration {
  let source: SalvageSource
  let connection: SQLiteConnection
  let now: OutboxTime

  init(from source: SalvageSource, to connection: SQLiteConnection, now: OutboxTime) {
    (self.source, self.connection, self.now) = (source, connection, now)
  }

  /// Does it all.
  ///
  /// - Returns: What came of it.
  /// - Throws: `StorageError`.
  func run() throws -> SalvageReport {
    let names = self.source.partitionNames()
    let rows = self.source.outboxRows()
    let edges = self.source.dependencies()
    let ended = self.source.endedRows()
    var partitions = [Int64: Int64]()
    for old in Set(rows.map(\.partition) + ended.map(\.partition)).sorted() {
      partitions[old] = try self.makePartition(names[old] ?? "lost account \(old)")
    }
    var endedIDs = Set<UUID>()
    for (partition, row) in ended {
      guard let new = partitions[partition], endedIDs.insert(row.id).inserted else { continue }
      try row.insert(partition: new, on: self.connection)
    }
    var report = SalvageReport()
    var seen = [Int64: UUID]()
    for row in rows where !endedIDs.contains(row.id) && !seen.values.contains(row.id) {
      guard let new = partitions[row.partition] else { continue }
      try self.restore(row, partition: new)
      seen[row.number] = row.id
    }
    let lostTargets = try self.restore(edges, among: Set(seen.keys))
    for number in lostTargets { try self.kill(number) }
    try self.restoreAliases(partitions)
    try self.makeHeads(seen.keys.sorted())
    try self.countRows(partitions, self.source.pausedPartitions())
    try self.keepNumbersRising()
    (report.rows, report.ended, report.lost) = (seen.count, endedIDs.count, self.source.lost)
    return report
  }

  private func makePartition(_ name: String) throws -> Int64? {
    try self.connection.execute(OutboxPartitionRow.insert, name)
    return try self.connection.first(OutboxPartitionRow.read, name) { try $0.integer(at: 0) }
  }

  private func restore(_ old: OutboxRow, partition: Int64) throws {
    var row = old
    row.partition = partition
    try row.insert(.none, on: self.connection)
    if !row.isSound {
      row.standing.makePending()
      (row.standing.state, row.standing.deadReason) = (.dead, .undecodable)
    } else if row.standing.state == .leased {
      row.standing.makePending()
      row.standing.maybeApplied = true
    }
    try row.saveStanding(on: self.connection)
  }

  /// - Returns: The rows that depend on one that is not there.
  private func restore(
    _ edges: [(dependant: Int64, target: Int64)],
    among numbers: Set<Int64>
  ) throws -> Set<Int64> {
    var orphans = Set<Int64>()
    for (dependant, target) in edges where numbers.contains(dependant) {
      if numbers.contains(target) {
        try self.connection.execute(DependencyRow.insert, dependant, target)
      } else {
        orphans.insert(dependant)
      }
    }
    return orphans
  }

  private func kill(_ number: Int64) throws {
    guard var row = try self.connection.first(OutboxRow.read, number, read: OutboxRow.init),
      row.standing.state == .pending
    else { return }
    row.standing.makePending()
    (row.standing.state, row.standing.deadReason) = (.dead, .dependency)
    try row.saveStanding(on: self.connection)
  }

  private func restoreAliases(_ partitions: [Int64: Int64]) throws {
    for alias in self.source.publishedAliases() {
      guard let partition = partitions[alias.partition] else { continue }
      try self.connection.execute(
        AliasRow.insert, partition, alias.alias, alias.value, alias.publisher, alias.publishedAt,
        alias.newestNumber)
    }
  }

  private func makeHeads(_ numbers: [Int64]) throws {
    var lanes = Set<String>()
    for number in numbers {
      guard let row = try self.connection.first(OutboxRow.read, number, read: OutboxRow.init),
        row.standing.state != .dead || row.lane != nil && row.onFailure == .halt
      else { continue }
      // Numbers rise: the first of a lane is its head.
      if let lane = row.lane, !lanes.insert("\(row.partition) \(lane)").inserted { continue }
      let head = LaneHeadRow(row, self.now)
      try self.connection.execute(
        LaneHeadRow.write, row.number, row.partition, row.lane, row.name, row.instance,
        row.version, row.effectiveHost, head.state.rawValue, head.dueBoottime)
    }
    try self.connection.execute(ClockRow.setBoot, self.now.bootID)
  }

  private static let count: SQL = """
    UPDATE partitions SET
      pending_count = (SELECT count(*) FROM outbox AS o
        WHERE o.partition = partitions.id AND o.state = 'pending'),
      leased_count = 0,
      dead_count = (SELECT count(*) FROM outbox AS o
        WHERE o.partition = partitions.id AND o.state = 'dead'),
      history_count = (SELECT count(*) FROM history AS h WHERE h.partition = partitions.id),
      history_bytes = (SELECT coalesce(sum(byte_count), 0) FROM history AS h
        WHERE h.partition = partitions.id),
      revision = revision + 1
    """
  private static let pause: SQL = "UPDATE partitions SET paused_at = ? WHERE id = ?"

  private func countRows(_ partitions: [Int64: Int64], _ paused: [Int64: Int64]) throws {
    try self.connection.execute(Self.count)
    for (old, date) in paused {
      if let new = partitions[old] { try self.connection.execute(Self.pause, date, new) }
    }
  }

  private static let raise: SQL = """
    UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'outbox'
    """
  private static let begin: SQL = """
    INSERT INTO sqlite_sequence (name, seq) SELECT 'outbox', ?
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'outbox')
    """

  /// A number of a row that is gone is not given again.
  private func keepNumbersRising() throws {
    let newest = self.source.newestNumber()
    try self.connection.execute(Self.begin, newest)
    try self.connection.execute(Self.raise, newest)
  }
}
