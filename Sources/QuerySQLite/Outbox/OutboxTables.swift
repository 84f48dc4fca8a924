package import FoundationEssentials
package import Query

/// The tables of `mutations.sqlite`, as the reads of one partition use them.
///
/// It has no thread and keeps no state: each function runs a few statements on the connection.
package struct OutboxTables {
  package let connection: SQLiteConnection

  /// The row of the partition; nil if it has never had a mutation.
  package let partition: OutboxPartitionRow?

  package let view: OutboxView

  /// Makes the tables of a partition.
  ///
  /// - Parameters:
  ///   - name: The name of the account.
  ///   - connection: A connection to `mutations.sqlite`.
  ///   - handlers: What this process can run; nil if it has not said.
  ///   - now: The time.
  /// - Throws: `StorageError`.
  package init(
    partitionNamed name: String,
    on connection: SQLiteConnection,
    handlers: Set<MutationHandler>?,
    _ now: OutboxTime
  ) throws {
    self.connection = connection
    self.partition = try OutboxPartitionRow.find(name, on: connection)
    self.view = OutboxView(
      pauses: try self.partition.map { try PauseRow.pauses(of: $0, on: connection) } ?? [:],
      handlers: handlers,
      hosts: try self.partition.map { try HostRow.standings(of: $0, on: connection) } ?? [:],
      now: now)
  }

  private static let accounts: SQL = """
    SELECT name, pending_count, leased_count, dead_count FROM partitions
    WHERE pending_count > 0 OR leased_count > 0 OR dead_count > 0 ORDER BY name
    """

  /// The accounts that have live or dead mutations, in the order of their names.
  ///
  /// - Throws: `StorageError`.
  func accounts() throws -> [(name: String, counts: OutboxCounts)] {
    try self.connection.rows(Self.accounts) { row in
      let counts = try (1...3).map { Int(try row.amount(at: $0)) }
      return (
        name: try row.text(at: 0),
        counts: OutboxCounts(pending: counts[0], leased: counts[1], dead: counts[2])
      )
    }
  }

  package func row(_ number: Int64) throws -> OutboxRow? {
    try self.connection.first(OutboxRow.read, number) { try OutboxRow($0) }
  }

  package func row(_ id: UUID) throws -> OutboxRow? {
    guard let partition else { return nil }
    let number = try self.connection.first(OutboxRow.findByID, partition.id, id) {
      try $0.integer(at: 0)
    }
    return try number.flatMap { try self.row($0) }
  }

  /// The record of a mutation that has ended.
  func record(_ id: UUID) throws -> RecordedMutation? {
    guard let partition else { return nil }
    let record = try self.connection.first(HistoryRow.readByID, partition.id, id) {
      try HistoryRow.record($0)
    }
    return record ?? nil
  }

  func hasEnded(_ id: UUID) throws -> Bool {
    guard let partition else { return false }
    return try self.connection.first(HistoryRow.readOutcome, partition.id, id) { _ in true }
      ?? false
  }
}

// MARK: - Counts

extension OutboxTables {
  /// Partition: the first head that is pending or leased.
  static let firstHead: SQL = """
    SELECT number FROM lane_heads NOT INDEXED
    WHERE partition = ? AND state <> 'halted' ORDER BY number LIMIT 1
    """

  /// Partition: the first running row.
  static let firstLeased: SQL = """
    SELECT min(number) FROM outbox INDEXED BY outbox_leased WHERE state = 'leased' AND partition = ?
    """

  /// Partition: the first live row behind a dead one that halts its lane.
  static let firstBehindDead: SQL = """
    SELECT min((SELECT number FROM outbox AS o
      WHERE o.partition = d.partition AND o.lane = d.lane AND o.lane IS NOT NULL
        AND (o.dead_reason IS NULL OR o.on_failure = 'halt') AND o.number > d.number
        AND o.state <> 'dead'
      ORDER BY o.number LIMIT 1))
    FROM outbox AS d INDEXED BY outbox_dead WHERE d.state = 'dead' AND d.partition = ?
      AND d.on_failure = 'halt' AND d.lane IS NOT NULL
    """

  /// Number.
  private static let createdAt: SQL = "SELECT created_at FROM outbox WHERE number = ?"

  /// How many rows there are, and when the oldest live one was enqueued.
  ///
  /// - Throws: `StorageError`.
  func counts() throws -> OutboxCounts {
    guard let partition else { return OutboxCounts() }
    var counts = partition.counts
    if counts.pending + counts.leased == 0 { return counts }
    var numbers = [Self.firstHead]
    if counts.leased > 0 { numbers.append(Self.firstLeased) }
    if counts.dead > 0 { numbers.append(Self.firstBehindDead) }
    let first = try numbers.compactMap { sql in
      try self.connection.first(sql, partition.id) { try $0.optionalInteger(at: 0) } ?? nil
    }.min()
    let date = try first.flatMap { number in
      try self.connection.first(Self.createdAt, number) { try $0.integer(at: 0) }
    }
    counts.oldestAt = date.map { Date(microsecondsSince1970: $0) }
    return counts
  }
}

extension OutboxTables {
  /// Partition: the number of pending rows of each kind.
  private static let kinds: SQL = """
    SELECT name, instance, version, count(*) FROM outbox NOT INDEXED
    WHERE partition = ? AND state = 'pending' GROUP BY 1, 2, 3
    """

  /// How many pending rows there are of each kind.
  ///
  /// - Throws: `StorageError`.
  func pendingKinds() throws -> [OutboxKind: Int] {
    guard let partition else { return [:] }
    let rows = try self.connection.rows(Self.kinds, partition.id) { row in
      (
        kind: OutboxKind(
          name: try row.text(at: 0), instance: try row.text(at: 1),
          version: Int(try row.integer(at: 2))),
        count: Int(try row.integer(at: 3))
      )
    }
    return Dictionary(rows.map { ($0.kind, $0.count) }) { $0 + $1 }
  }

  /// Partition: for each host and state the number of rows, and the date of the first.
  private static let countsOfHosts: SQL = """
    SELECT g.host, g.state, g.count, o.created_at FROM (
      SELECT coalesce(host, 'name:' || name) AS host, state, count(*) AS count,
        min(number) AS first
      FROM outbox NOT INDEXED WHERE partition = ? GROUP BY 1, 2) AS g
    JOIN outbox AS o ON o.number = g.first
    """

  /// How many rows there are of each host.
  ///
  /// - Throws: `StorageError`.
  func countsByHost() throws -> [String: OutboxCounts] {
    guard let partition else { return [:] }
    var counts = [String: OutboxCounts]()
    let rows = try self.connection.rows(Self.countsOfHosts, partition.id) { row in
      (
        host: try row.text(at: 0), state: try OutboxEntry.State.read(row, at: 1),
        count: Int(try row.integer(at: 2)),
        date: Date(microsecondsSince1970: try row.integer(at: 3))
      )
    }
    for row in rows {
      var count = counts[row.host] ?? OutboxCounts()
      switch row.state {
      case .pending: count.pending = row.count
      case .leased: count.leased = row.count
      case .dead: count.dead = row.count
      }
      if row.state != .dead { count.oldestAt = min(count.oldestAt ?? row.date, row.date) }
      counts[row.host] = count
    }
    return counts
  }
}

// MARK: - Lists

extension OutboxTables {
  /// Partition, number: those after it.
  private static let numbers: SQL = """
    SELECT number FROM outbox NOT INDEXED WHERE partition = ? AND number > ? ORDER BY number LIMIT ?
    """

  /// Partition, number.
  private static let deadNumbers: SQL = """
    SELECT number FROM outbox WHERE state = 'dead' AND partition = ? AND number > ?
    ORDER BY number LIMIT ?
    """

  /// Partition, number.
  private static let leasedNumbers: SQL = """
    SELECT number FROM outbox INDEXED BY outbox_leased
    WHERE state = 'leased' AND partition = ? AND number > ? ORDER BY number LIMIT ?
    """

  /// Partition, name, instance, how many of the newest (-1: all): the rows of a mutation that have ever
  /// waited.
  static let waitedRows = SQL(
    assembling: """
      \(OutboxRow.all) WHERE has_waited <> 0 AND partition = ? AND name = ? AND instance = ?
      ORDER BY number DESC LIMIT ?
      """)

  /// The same of those that run and have never waited, which are in no other index.
  static let leasedRows = SQL(
    assembling: """
      \(OutboxRow.all) INDEXED BY outbox_leased
      WHERE state = 'leased' AND has_waited = 0 AND partition = ? AND name = ? AND instance = ?
      ORDER BY number DESC LIMIT ?
      """)

  /// Reads a chunk of the live and dead mutations after a number: a read transaction must not last long.
  ///
  /// - Parameters:
  ///   - state: Only those in this state; nil: all.
  ///   - number: The last known number.
  ///   - limit: The maximum number of mutations.
  /// - Returns: The mutations, and the last number examined; nil at the end.
  /// - Throws: `StorageError`.
  func entries(
    in state: OutboxEntry.State?,
    after number: Int64,
    limit: Int
  ) throws -> (entries: [OutboxEntry], last: Int64?) {
    guard let partition else { return ([], nil) }
    let sql =
      switch state {
      case .dead: Self.deadNumbers
      case .leased: Self.leasedNumbers
      case .pending, nil: Self.numbers
      }
    let numbers = try self.connection.rows(sql, partition.id, number, limit) {
      try $0.integer(at: 0)
    }
    var entries = [OutboxEntry]()
    for number in numbers {
      guard let row = try self.row(number) else { continue }
      if state == nil || row.standing.state == state { entries.append(row.entry(self.view)) }
    }
    if state == nil, number == 0, numbers.count < limit { try self.requireCount(entries.count) }
    return (entries, numbers.count < limit ? nil : numbers.last)
  }

  /// Whether rows are missing: SQLite does not report rows that a flipped bit in a page has hidden.
  private func requireCount(_ count: Int) throws {
    guard let counts = self.partition?.counts else { return }
    let expected = counts.pending + counts.leased + counts.dead
    if count == expected { return }
    throw StorageError(
      operation: "read", code: .corrupt, message: "\(count) of \(expected) mutations are there",
      fileName: self.connection.fileName)
  }

  /// The mutations of a name and instance, in the order of enqueueing.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - instance: The instance.
  ///   - limit: How many of the ended ones, the last; 0: all.
  ///   - newest: How many in all, the newest; nil: all.
  /// - Throws: `StorageError`.
  func history(
    of name: String, instance: String, limit: Int, newest: Int? = nil
  ) throws -> [RecordedMutation] {
    guard let partition else { return [] }
    let ended = try self.connection.rows(
      HistoryRow.readByName, partition.id, name, instance, limit > 0 ? limit : -1
    ) { try HistoryRow.record($0) }
    var records = ended.compactMap { $0 }
    records += try self.liveRecords(of: name, instance: instance, newest: newest)
    records.sort { $0.number < $1.number }
    return newest.map { records.suffix($0) } ?? records
  }

  /// The live and dead mutations of some names, and those that ended after a sequence.
  ///
  /// - Throws: `StorageError`.
  func log(
    of handlers: Set<MutationHandler>, endedAfter sequence: Int64
  ) throws -> MutationLog {
    guard let partition else { return MutationLog(sequence: 0, records: []) }
    var records = [RecordedMutation]()
    for handler in handlers {
      if sequence < partition.lastSequence {
        let ended = try self.connection.rows(
          HistoryRow.readEndedAfter, partition.id, handler.name, handler.instance, sequence
        ) { try HistoryRow.record($0) }
        records += ended.compactMap { $0 }
      }
      records += try self.liveRecords(of: handler.name, instance: handler.instance)
    }
    var others = [MutationLog.Other]()
    if sequence < partition.lastSequence {
      let known = Dictionary(grouping: handlers, by: \.name)
      others = try self.connection.rows(HistoryRow.successesAfter, partition.id, sequence) { row in
        let (name, instance) = (try row.text(at: 1), try row.text(at: 2))
        if known[name]?.contains(where: { $0.instance == instance }) == true { return nil }
        return MutationLog.Other(
          sequence: try row.integer(at: 0), name: name, instance: instance)
      }.compactMap { $0 }
    }
    return MutationLog(
      sequence: partition.lastSequence, records: records, others: others,
      unknown: try self.unknownEdits(partition.id, handlers))
  }

  /// The live mutations that have edits and are not of these handlers.
  private func unknownEdits(
    _ partition: Int64, _ handlers: Set<MutationHandler>
  ) throws -> [MutationLog.Unknown] {
    let known = Dictionary(grouping: handlers, by: \.name)
    func isKnown(_ name: String, _ instance: String) -> Bool {
      known[name]?.contains { $0.instance == instance } == true
    }
    func read(_ row: SQLiteStatement) throws -> MutationLog.Unknown {
      .init(id: try row.uuid(at: 0), editedPaths: EditedPaths(text: try row.text(at: 1)))
    }
    // Rows that were leased at once are in no other index.
    var found = try self.connection.rows(OutboxRow.leasedEdits, partition) { row in
      isKnown(try row.text(at: 2), try row.text(at: 3)) ? nil : try read(row)
    }.compactMap { $0 }
    var last = (name: "", instance: "")
    while let next = try self.connection.first(
      OutboxRow.nextName, partition, last.name, last.instance,
      read: { (name: try $0.text(at: 0), instance: try $0.text(at: 1)) })
    {
      last = next
      if isKnown(next.name, next.instance) { continue }
      found += try self.connection.rows(
        OutboxRow.edits, partition, next.name, next.instance, read: read)
    }
    return found
  }

  private func liveRecords(
    of name: String, instance: String, newest limit: Int? = nil
  ) throws -> [RecordedMutation] {
    guard let partition else { return [] }
    return try [Self.waitedRows, Self.leasedRows].flatMap { sql in
      try self.connection.rows(sql, partition.id, name, instance, limit ?? -1) {
        let row = try OutboxRow($0)
        return RecordedMutation(row.entry(self.view), failedAt: row.standing.failedAt)
      }
    }
  }

  /// The last attempts of a mutation, the oldest first.
  ///
  /// - Throws: `StorageError`.
  package func attempts(of id: UUID) throws -> [OutboxAttempt] {
    if try self.row(id) == nil, try !self.hasEnded(id) { return [] }
    let attempts = try self.connection.rows(AttemptRow.read, id) { try AttemptRow.attempt($0) }
    return attempts.suffix(AttemptRow.maximum)
  }

  /// The value of an alias.
  ///
  /// - Throws: `StorageError`.
  func value(ofAlias alias: String) throws -> String? {
    guard let partition else { return nil }
    return try self.connection.first(AliasRow.read, partition.id, alias.canonicallyComposed) {
      try $0.text(at: 0)
    }
  }
}

// MARK: - Standing

extension OutboxTables {
  /// Partition, lane, number: earlier rows that block the lane.
  private static let before: SQL = """
    SELECT number, state FROM outbox
    WHERE partition = ? AND lane = ? AND lane IS NOT NULL
      AND (dead_reason IS NULL OR on_failure = 'halt') AND number < ?
    ORDER BY number
    """

  /// The state or outcome of a mutation.
  ///
  /// - Throws: `StorageError`.
  func standing(of id: UUID) throws -> MutationStanding {
    guard let row = try self.row(id) else {
      return try self.record(id).map { .ended($0) } ?? .unknown
    }
    let entry = row.entry(self.view)
    switch row.standing.state {
    case .leased: return .leased(entry)
    case .dead: return .dead(entry)
    case .pending: return .pending(entry, isNext: try self.isNext(row))
    }
  }

  private func isNext(_ row: OutboxRow) throws -> Bool {
    guard self.view.pauses.first(holding: row.enqueued) == nil, row.isReady(self.view.now),
      self.view.hosts[row.effectiveHost]?.holdsCallers(at: self.view.now) != true
    else { return false }
    guard !row.isHead, let lane = row.lane else { return row.isHead }
    return try self.connection.withStatement(Self.before) { before in
      try before.bindAll(row.partition, lane, row.number)
      // The first row that is not running decides.
      while try before.step() {
        if try before.text(at: 1) != OutboxEntry.State.leased.rawValue { return false }
      }
      return true
    }
  }

  /// The row that another one waits for in its lane: the first that runs, be it a later one, or else the
  /// first.
  ///
  /// - Throws: `StorageError`.
  func predecessor(of row: OutboxRow) throws -> OutboxRow? {
    guard let lane = row.lane else { return nil }
    let head = try self.connection.first(LaneHeadRow.readOfLane, row.partition, lane) {
      try $0.integer(at: 0)
    }
    return try head.flatMap { $0 == row.number ? nil : try self.row($0) }
  }

  func dependency(of row: OutboxRow) throws -> OutboxRow? {
    let number = try self.connection.first(DependencyRow.targets, row.number) {
      try $0.integer(at: 0)
    }
    return try number.flatMap { try self.row($0) }
  }
}

// MARK: - Reasons

extension OutboxTables {
  /// What keeps a mutation from running: the first reason, as in `waitReason`.
  ///
  /// - Throws: `OutboxError`; `StorageError`.
  package func clause(of id: UUID) throws -> OutboxClause {
    guard let row = try self.row(id) else {
      guard case .ended(let outcome)? = try self.record(id)?.state else {
        throw OutboxError.unknown(id)
      }
      return .ended(outcome)
    }
    return try row.entry(self.view).clause(
      row.standing, in: self.view, owner: self.owner(of: row),
      predecessor: self.predecessor(of: row)?.entry(self.view),
      dependency: self.dependency(of: row)?.entry(self.view))
  }

  /// Owner: the number of its process.
  private static let process: SQL = "SELECT process FROM owners WHERE owner = ?"

  private func owner(of row: OutboxRow) throws -> (name: String, hasEnded: Bool) {
    guard let owner = row.standing.lease?.owner else { return ("a process", false) }
    let process = try self.connection.first(Self.process, owner) { try $0.integer(at: 0) }
    let name = process.map { "process \($0), owner \(owner)" } ?? "the process of owner \(owner)"
    let owners = OwnerFile.folder(in: FilePath.folder(of: self.connection.path))
    return (name, OwnerFile.state(of: owner, in: owners) == .gone)
  }
}
