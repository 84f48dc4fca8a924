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
    let derived = DerivedRows(connection: self.connection, now: self.now)
    try derived.makeHeads(of: seen.keys.sorted())
    try derived.countRows(of: nil)
    try self.pause(self.source.pausedPartitions(), partitions)
    // A number of a row that is gone is not given again.
    try derived.keepNumbersRising(above: self.source.newestNumber())
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

  private static let pause: SQL = "UPDATE partitions SET paused_at = ? WHERE id = ?"

  private func pause(_ paused: [Int64: Int64], _ partitions: [Int64: Int64]) throws {
    for (old, date) in paused {
      if let new = partitions[old] { try self.connection.execute(Self.pause, date, new) }
    }
  }
}
