import FoundationEssentials
import Query

/// Writes what was read from a damaged outbox into a new one, in one write transaction of its
/// caller.
///
/// Rows keep their numbers, and so their order. A leased mutation keeps its lease as long as the process
/// that sends it lives; otherwise it becomes pending, and may have been applied. One that is not as it was
/// enqueued is dead, as is one that depends on a mutation that cannot be read. What the new outbox has
/// already stays as it is.
struct OutboxRestoration {
  let source: SalvageSource
  let connection: SQLiteConnection
  let now: OutboxTime
  /// Tells which owners of leases live.
  let reaper: OutboxReaper

  /// - Parameters:
  ///   - source: The damaged file's rows.
  ///   - connection: The new file.
  ///   - folder: The absolute path of the folder of both.
  ///   - now: The time.
  init(
    from source: SalvageSource, to connection: SQLiteConnection, in folder: String,
    now: OutboxTime
  ) {
    (self.source, self.connection, self.now) = (source, connection, now)
    self.reaper = OutboxReaper(folder: folder)
  }

  /// Restores everything.
  ///
  /// - Parameter name: The name that the damaged file was set aside under.
  /// - Returns: What was restored and lost; nil if that file was salvaged before.
  /// - Throws: `StorageError`.
  func run(of name: String) throws -> SalvageReport? {
    if try self.isThere(SalvageRow.find, name) { return nil }
    let names = try self.source.partitionNames()
    // Erased rows stay erased.
    let erased = Set(names.filter { ErasedName.isOfRows($0.value) }.keys)
    let allRows = try self.source.outboxRows()
    let rows = allRows.filter { !erased.contains($0.partition) }
    let allEnded = try self.source.endedRows()
    let ended = allEnded.filter { !erased.contains($0.partition) }
    var partitions = [Int64: Int64]()
    for old in Set(rows.map(\.partition) + ended.map(\.partition)).sorted() {
      partitions[old] = try self.makePartition(names[old] ?? "lost account \(old)")
    }
    try self.restoreEpochs(partitions)
    var report = SalvageReport()
    for (partition, sequence, row) in ended {
      guard let new = partitions[partition], try !self.isThere(Self.hasEnded, row.id) else {
        continue
      }
      // One with another sequence than it had ends behind those that are there.
      let keeps =
        try SalvageScratch.inUse.contains(sequence)
        && !self.isThere(HistoryRow.hasSequence, sequence)
      try row.insert(partition: new, sequence: keeps ? sequence : nil, on: self.connection)
      report.ended += 1
    }
    var numbers = [Int64: Int64]()
    for row in rows {
      guard let new = partitions[row.partition] else { continue }
      numbers[row.number] = try self.restore(row, partition: new)
    }
    report.rows = numbers.count
    for number in try self.restoreDependencies(among: numbers) { try self.kill(number) }
    let ids =
      allRows.filter { erased.contains($0.partition) }.map(\.id)
      + allEnded.filter { erased.contains($0.partition) }.map(\.row.id)
    try self.restoreAttempts(butOf: Set(ids))
    try self.restoreAliases(partitions)
    try self.restoreForgotten(partitions)
    try self.pause(partitions)
    try self.derive()
    report.lost = self.source.lost
    try self.note(name, report)
    return report
  }

  private func isThere<Value: SQLiteBindable>(_ sql: SQL, _ value: Value) throws -> Bool {
    try self.connection.first(sql, value) { _ in true } ?? false
  }

  /// Notes the salvage: from the commit on no process repeats it, even if this one is killed.
  private func note(_ name: String, _ report: SalvageReport) throws {
    for row in try self.source.salvages() {
      try self.connection.execute(SalvageRow.insert, row.name, row.salvagedAt, row.isWhole)
    }
    try self.connection.execute(
      SalvageRow.insert, name, self.now.wall.microsecondsSince1970, report.lost.isEmpty)
  }

  private func makePartition(_ name: String) throws -> Int64? {
    try self.connection.execute(OutboxPartitionRow.insert, name)
    return try self.connection.first(OutboxPartitionRow.read, name) { try $0.integer(at: 0) }
  }

  private static let raiseEpoch: SQL = """
    UPDATE partitions SET epoch = max(epoch, ?) WHERE id = ?
    """

  /// A lease is of an epoch, and an attempt that an erasure has ended stays so.
  private func restoreEpochs(_ partitions: [Int64: Int64]) throws {
    for (old, epoch) in try self.source.epochs() {
      if let new = partitions[old] { try self.connection.execute(Self.raiseEpoch, epoch, new) }
    }
  }
}

// MARK: - Mutations

extension OutboxRestoration {
  /// The history forgets those that ended long ago; what has succeeded stays so.
  private static let hasEnded: SQL = """
    SELECT 1 FROM history WHERE id = ?1 UNION ALL SELECT 1 FROM forgotten WHERE id = ?1
    """
  private static let hasNumber: SQL = "SELECT 1 FROM outbox WHERE number = ?"

  /// - Returns: The row's new number; nil if the outbox has the mutation already.
  private func restore(_ old: OutboxRow, partition: Int64) throws -> Int64? {
    if try self.isThere(Self.hasEnded, old.id) { return nil }
    if try self.connection.first(OutboxRow.hasID, old.id, read: { try $0.bool(at: 0) }) == true {
      return nil
    }
    var row = old
    row.move(to: partition)
    // A process has enqueued others before this: they keep their numbers.
    if try row.number == 0 || self.isThere(Self.hasNumber, row.number) {
      row.renumber(try OutboxPartitionRow.newestNumber(on: self.connection) + 1)
    }
    try row.insert(on: self.connection)
    if !row.isSound {
      row.standing.kill(.undecodable)
    } else if row.standing.state == .leased, row.number != old.number || !self.isRunning(row) {
      row.standing.makePending()
      row.standing.maybeApplied = true
    }
    try row.saveStanding(on: self.connection)
    return row.number
  }

  /// Whether a living process sends it. If that process has lost the row, it takes it back itself.
  private func isRunning(_ row: OutboxRow) -> Bool {
    row.standing.lease.map { self.reaper.isAlive($0.owner) } ?? false
  }

  /// - Parameter numbers: The rows' new numbers, by their old ones.
  /// - Returns: The rows that depend on a missing one.
  private func restoreDependencies(among numbers: [Int64: Int64]) throws -> Set<Int64> {
    var orphans = Set<Int64>()
    for (oldDependant, oldTarget) in try self.source.dependencies() {
      guard let dependant = numbers[oldDependant] else { continue }
      if let target = numbers[oldTarget] {
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
    row.standing.kill(.dependency)
    try row.saveStanding(on: self.connection)
  }

  private static let heads: SQL = "DELETE FROM lane_heads"
  private static let numbers: SQL = "SELECT number FROM outbox ORDER BY number"

  private func derive() throws {
    let derived = DerivedRows(connection: self.connection, now: self.now)
    try self.connection.execute(Self.heads)
    try derived.makeHeads(
      of: try self.connection.rows(Self.numbers) { try $0.integer(at: 0) })
    try derived.countRows(of: nil)
    // The number of a row that is gone is not assigned again, nor is the sequence of an end.
    try derived.keepNumbersRising(
      above: try self.source.newestNumber(), sequence: try self.source.newestSequence())
  }
}

// MARK: - The rest

extension OutboxRestoration {
  private func restoreAttempts(butOf erased: Set<UUID>) throws {
    for attempt in try self.source.attempts() where !erased.contains(attempt.mutation) {
      try self.connection.execute(
        AttemptRow.salvage, attempt.mutation, attempt.number, attempt.owner, attempt.startedAt,
        attempt.endedAt, attempt.outcome, attempt.code, attempt.error?.typeName,
        attempt.error?.text, attempt.key, attempt.arguments, attempt.response)
    }
  }

  private func restoreAliases(_ partitions: [Int64: Int64]) throws {
    for alias in try self.source.publishedAliases() {
      guard let partition = partitions[alias.partition] else { continue }
      try self.connection.execute(
        AliasRow.insert, partition, alias.alias, alias.value, alias.publisher, alias.publishedAt,
        alias.newestNumber)
    }
  }

  private func restoreForgotten(_ partitions: [Int64: Int64]) throws {
    for row in try self.source.forgottenRows() {
      guard let partition = partitions[row.partition] else { continue }
      try self.connection.execute(
        ForgottenRow.salvage, row.id, partition, row.sequence, row.outcome, row.successor,
        row.endedAt)
    }
  }

  private static let pause: SQL = "UPDATE partitions SET paused_at = ? WHERE id = ?"

  private func pause(_ partitions: [Int64: Int64]) throws {
    for (old, date) in try self.source.pausedPartitions() {
      if let new = partitions[old] { try self.connection.execute(Self.pause, date, new) }
    }
    for pause in try self.source.pauses() {
      guard let new = partitions[pause.partition] else { continue }
      try self.connection.execute(PauseRow.insert, new, pause.part, pause.value, pause.pausedAt)
    }
  }
}

/// The result of a salvage.
struct SalvageReport {
  /// How many live and dead mutations were read.
  var rows = 0

  /// How many ended mutations were read.
  var ended = 0

  /// What existed and could not be read, each in a few words.
  var lost = [String]()

  /// The report as a message.
  var words: String {
    let kept = "\(self.rows) mutations and \(self.ended) ended ones were salvaged"
    if self.lost.isEmpty { return "\(kept), and nothing is known to be lost" }
    let named = self.lost.prefix(50).joined(separator: ", ")
    let rest = self.lost.count > 50 ? " and \(self.lost.count - 50) more" : ""
    return "\(kept); not readable: \(named)\(rest)"
  }
}

/// Records that the readable rows of a damaged file were salvaged into this one.
struct SalvageRow: Hashable {
  /// The name of the file that was set aside.
  let name: String
  /// Microseconds since 1970.
  let salvagedAt: Int64
  /// Whether none of its rows is missing here: otherwise it is kept for good.
  let isWhole: Bool

  /// Name, date, whether it is whole.
  static let insert: SQL = """
    INSERT INTO salvages (name, salvaged_at, is_whole) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
    """

  /// Name.
  static let find: SQL = "SELECT 1 FROM salvages WHERE name = ?"

  /// The names of those that were salvaged whole.
  static let whole: SQL = "SELECT name FROM salvages WHERE is_whole <> 0"

  /// Removes all rows.
  static let forget: SQL = "DELETE FROM salvages"
}
