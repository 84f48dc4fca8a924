import FoundationEssentials
import Query

/// One write transaction on the outbox of a partition. ``OutboxWriter`` begins and finishes it; it
/// may include several callers' jobs.
///
/// It is a value, so that a failed job is undone in memory by restoring the copy from before it.
struct OutboxTransaction {
  /// The terms of all transactions of a process.
  struct Terms {
    /// The name of this process's lock file; nil if it holds none, and may lease nothing.
    var owner: String?
    /// The leases that this process holds according to its own memory, by number.
    var leases: [Int64: OutboxWriter.HeldLease]
    var leaseLength: Duration
    var limits: MutationHistoryLimits
    /// Tells which owners have exited.
    var reaper: OutboxReaper
    /// The latest wall time that was known to be right, microseconds since 1970.
    var synchronisedAt: Int64?
    /// Whether to check the history's age, which is seldom done.
    var isHistoryAgeDue: Bool
    /// How many rows have grown too old since the last claim.
    var expired = 0
  }

  /// A leased row, as it is for as long as the lease is held.
  struct LeasedRow {
    let lease: MutationLease
    let row: OutboxRow
  }

  /// The name of the account.
  let name: String

  let connection: SQLiteConnection
  private(set) var terms: Terms
  let now: OutboxTime

  /// The wall time, microseconds since 1970.
  let nowAt: Int64

  /// State that is known and need not be read.
  var memory: OutboxMemory

  /// The row of the partition.
  var partition: OutboxPartitionRow {
    get { self.memory.partition }
    set { self.memory.partition = newValue }
  }

  /// The handlers that this process last claimed for.
  var handlers: Set<MutationHandler>?

  /// How many rows this process has declared dead since its last claim, since they grew too old.
  var expired: Int

  /// The hosts that are not well; nil until they are read.
  var hosts: [String: HostStanding]?

  /// What is paused, and since when.
  var pauses: OutboxPauses

  /// To be applied when this is committed.
  var outcome = Outcome()

  private let before: OutboxPartitionRow

  /// The changes in memory, and the events, of a committed transaction.
  struct Outcome {
    var events = [OutboxEvent]()
    /// New leases, by number.
    var leases = [Int64: LeasedRow]()
    /// The numbers of rows that this process no longer holds.
    var endedLeases = Set<Int64>()
    var revocations = [(number: Int64, revocation: MutationLease.Revocation)]()
    /// Files that no row names any more.
    var bodyFiles = [String]()
    var hasEffects = false
    /// Successes that stay for their edits alone.
    var editsToCheck: EditsToCheck?
    var hasErased = false
    /// Whether the outbox was changed, so that other processes must be notified.
    var isChanged = false
    /// Whether a row has ceased to be live, so that one that waits for it may wait in vain.
    var mustCheckAwaiting = false
    /// Whether the history's age was checked.
    var hasPrunedByAge = false
    /// Whether more of the history must be removed, in separate transactions.
    var mustPrune = false
    var mustPruneByAge = false
    /// Numbers of rows that have ended, and published aliases, for which some rows still wait.
    var targetsLeft = [Int64]()
    var aliasesLeft = [String]()
    /// Whether more rows may wait in vain.
    var hasVainWaitsLeft = false
    /// Whether rows wait whose age began to count in an earlier boot, and the last one examined.
    var hasRowsOfEarlierBoots = false
    var olderLeft: Int64?
    /// Whether a process was found that has died.
    var hasReaped = false
  }

  /// Begins to change a partition, in a write transaction; creates a missing one.
  ///
  /// - Throws: `StorageError`.
  init(
    partitionNamed name: String,
    on connection: SQLiteConnection,
    _ terms: Terms,
    handlers: Set<MutationHandler>?,
    _ now: OutboxTime,
    _ memory: OutboxMemory? = nil
  ) throws {
    let memory =
      try memory ?? OutboxMemory(partition: try Self.partition(named: name, on: connection))
    (self.name, self.connection, self.terms, self.now) = (name, connection, terms, now)
    self.nowAt = now.wall.microsecondsSince1970
    (self.memory, self.before, self.handlers) = (memory, memory.partition, handlers)
    self.expired = terms.expired
    self.pauses = try PauseRow.pauses(of: memory.partition, on: connection)
  }

  /// Reads the row of a partition, and creates a missing one.
  private static func partition(
    named name: String,
    on connection: SQLiteConnection
  ) throws -> OutboxPartitionRow {
    var row = try OutboxPartitionRow.find(name, on: connection)
    if row == nil {
      try connection.execute(OutboxPartitionRow.insert, name)
      row = try OutboxPartitionRow.find(name, on: connection)
    }
    guard let row else {
      throw StorageError(
        operation: "read partition", code: .corrupt, message: "the row of the partition is missing",
        fileName: connection.fileName)
    }
    return row
  }

  var view: OutboxView {
    OutboxView(
      pauses: self.pauses, handlers: self.handlers, hosts: self.hosts ?? [:], now: self.now)
  }

  /// Writes the row of the partition if necessary.
  ///
  /// - Throws: `StorageError`.
  mutating func finish() throws {
    // What ran until now may be too old to wait again.
    try self.expire()
    if self.outcome.mustCheckAwaiting { try self.endVainWaits(.rows(Self.releasedAtOnce)) }
    if self.outcome.isChanged { self.partition.revision &+= 1 }
    // An account that has rows again is listed by its name.
    let counts = self.partition.counts
    if counts.pending + counts.leased + counts.dead > 0 { self.partition.isNamed = true }
    if self.partition.isNamed != self.before.isNamed {
      try self.partition.saveName(self.name, on: self.connection)
    }
    if self.partition != self.before { try self.partition.save(on: self.connection) }
  }

  /// Lets go of the leases of the process, which are about to change: a second holder would make that a
  /// copy of them all.
  mutating func releaseLeases() { self.terms.leases = [:] }

  /// Records an event for other processes and subscribers.
  mutating func tell(_ event: OutboxEvent) {
    self.outcome.isChanged = true
    self.outcome.events.append(event)
  }
}

// MARK: - Rows

extension OutboxTransaction {
  /// Reads a row.
  ///
  /// - Throws: `StorageError`.
  func row(_ number: Int64) throws -> OutboxRow? {
    try self.connection.first(OutboxRow.read, number) { try OutboxRow($0) }
  }

  /// Reads a row of this partition by its identifier.
  ///
  /// - Throws: `StorageError`.
  func row(_ id: UUID) throws -> OutboxRow? {
    let number = try self.connection.first(OutboxRow.findByID, self.partition.id, id) {
      try $0.integer(at: 0)
    }
    return try number.flatMap { try self.row($0) }
  }

  /// Reads a row that must be there.
  ///
  /// - Throws: `OutboxError`: ended or unknown; `StorageError`.
  func requireRow(_ id: UUID) throws -> OutboxRow {
    if let row = try self.row(id) { return row }
    throw try self.hasEnded(id) ? OutboxError.ended(id) : OutboxError.unknown(id)
  }

  func hasEnded(_ id: UUID) throws -> Bool {
    try self.connection.first(HistoryRow.readOutcome, self.partition.id, id) { _ in true } ?? false
  }

  /// Changes the standing of a row, and updates its lane.
  ///
  /// - Throws: `StorageError`.
  mutating func update(_ row: inout OutboxRow, to standing: OutboxStanding) throws {
    let (old, new) = (row.standing.state, standing.state)
    let waited = row.standing.wait
    row.standing = standing
    if old != new {
      self.count(old, -1)
      self.count(new, 1)
      if old == .leased { self.outcome.endedLeases.insert(row.number) }
      if new == .dead { self.outcome.mustCheckAwaiting = true }
    }
    self.memory.leases.remove(row.number)
    self.noteExpiry(of: row)
    if standing.wait.alias != nil { self.memory.isFreeOfAwaiting = false }
    if old == .pending, new == .leased, waited.alias == nil {
      try row.saveLease(on: self.connection)
    } else {
      try row.saveStanding(on: self.connection)
    }
    if new == .leased, row.isHead, row.lane != nil {
      // It stays the head of its lane.
      try self.connection.execute(LaneHeadRow.setLeased, row.number)
    } else {
      try self.refreshHead(&row)
    }
  }

  /// Removes a row whose end is recorded. Those that depend on it still do.
  ///
  /// - Throws: `StorageError`.
  mutating func remove(_ row: OutboxRow) throws {
    self.count(row.standing.state, -1)
    self.memory.leases.remove(row.number)
    if row.standing.state == .leased { self.outcome.endedLeases.insert(row.number) }
    if row.standing.state != .dead { self.outcome.mustCheckAwaiting = true }
    self.outcome.bodyFiles += BodyNames.split(row.bodyFile)
    // The connection does not enforce foreign keys.
    if row.hasDependencies {
      try self.connection.execute(DependencyRow.deleteByDependant, row.number)
    }
    if row.isHead { try self.connection.execute(LaneHeadRow.delete, row.number) }
    try self.connection.execute(OutboxRow.delete, row.number)
    if let lane = row.lane, row.isHead { try self.findHead(of: lane, leftBy: row.number) }
  }

  /// Counts a row. No count becomes negative, even if the file's counts were wrong.
  mutating func count(_ state: OutboxEntry.State, _ change: Int) {
    switch state {
    case .pending:
      self.partition.counts.pending = max(self.partition.counts.pending + change, 0)
    case .leased: self.partition.counts.leased = max(self.partition.counts.leased + change, 0)
    case .dead: self.partition.counts.dead = max(self.partition.counts.dead + change, 0)
    }
  }
}

// MARK: - Enqueueing

extension OutboxTransaction {
  /// Inserts a mutation, and leases it if the caller wants that and it may run now.
  ///
  /// - Throws: `OutboxError`; `StorageError`.
  mutating func enqueue(_ new: NewMutation, claiming: Bool) throws -> EnqueuedMutation {
    try self.loadHosts()
    if !new.hasFreshID,
      try self.connection.first(Self.isKnown, new.id, read: { try $0.bool(at: 0) }) == true
    {
      return try self.answer(toRepeated: new)
    }
    let targets = new.dependencies.isEmpty ? [] : try self.openDependencies(of: new)
    let old = try self.replaceable(new, targets)
    var row = OutboxRow(new, partition: self.partition.id, now: self.now)
    // Most rows may run at once, and are never written as pending.
    let owner = claiming ? self.terms.owner : nil
    if let owner, old == nil, targets.isEmpty, self.mayRunBesideOthers(row.standing),
      try self.mayRunAtOnce(new)
    {
      row.standing = self.leased(row.standing, by: owner)
    }
    row.renumber(try self.takeNumber())
    try row.insert(on: self.connection)
    if row.standing.wait.delay != nil { try row.saveStanding(on: self.connection) }
    self.count(row.standing.state, 1)
    self.noteExpiry(of: row)
    for target in targets { try self.insertDependency(of: row.number, on: target) }
    row.hasDependencies = !targets.isEmpty
    self.tell(.enqueued(row.id))
    if let old { try self.supersede(old, by: &row) }
    try self.refreshHead(&row, isNew: true)
    var lease: MutationLease?
    if row.standing.state == .leased {
      try self.noteProbe(row)
      lease = self.beginAttempt(of: row, isReplay: false)
    } else if claiming, new.waitReason == nil, self.mayRun(row),
      self.mayRunBesideOthers(row.standing), !self.hostHoldsCallers(row.effectiveHost)
    {
      lease = try self.lease(&row, isReplay: false)
    }
    return EnqueuedMutation(entry: row.entry(self.view), lease: lease, superseded: old?.id)
  }

  /// ID: whether there is, or was, a mutation with it.
  private static let isKnown: SQL = """
    SELECT EXISTS (SELECT 1 FROM outbox WHERE has_waited <> 0 AND id = ?1)
      OR EXISTS (SELECT 1 FROM outbox WHERE state = 'leased' AND id = ?1)
      OR EXISTS (SELECT 1 FROM history WHERE id = ?1)
      OR EXISTS (SELECT 1 FROM forgotten WHERE id = ?1)
    """

  /// The answer for a mutation whose identifier is taken.
  private func answer(toRepeated new: NewMutation) throws -> EnqueuedMutation {
    if let row = try self.row(new.id) {
      return try self.answer(toRepeated: new, row.entry(self.view), at: self.now)
    }
    let record = try self.connection.first(HistoryRow.readByID, self.partition.id, new.id) {
      try HistoryRow.record($0)
    }
    if let record = record ?? nil {
      return try self.answer(toRepeated: new, record.entry, at: self.now)
    }
    if try self.end(of: new.id) != nil {
      return try self.answer(toRepeated: new, nil, at: self.now)
    }
    // It is one of another account.
    var other = new
    other.isRepeatable = false
    return try self.answer(toRepeated: other, nil, at: self.now)
  }

  /// Whether nothing blocks a new mutation without dependencies.
  private func mayRunAtOnce(_ new: NewMutation) throws -> Bool {
    let pause = self.pauses.first(lane: new.lane, name: new.name, host: new.effectiveHost)
    guard new.waitReason == nil, new.delay == nil, pause == nil,
      !self.hostHoldsCallers(new.effectiveHost)
    else { return false }
    guard let lane = new.lane else { return true }
    let head = try self.connection.first(LaneHeadRow.readOfLane, self.partition.id, lane) { _ in
      true
    }
    return head == nil
  }

  /// Whether a row may run now.
  func mayRun(_ row: OutboxRow) -> Bool {
    self.terms.owner != nil && self.pauses.first(holding: row.enqueued) == nil && row.isHead
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
      AND (dead_reason IS NULL OR on_failure = 'halt') AND state <> 'dead'
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
    guard let end else { return try self.forgotten(id) }
    return RecordedMutation.Outcome(rawValue: end.0).map { ($0, end.1) }
  }
}

// MARK: - Erasing

extension OutboxTransaction {
  private static let leased: SQL = """
    SELECT number FROM outbox INDEXED BY outbox_leased WHERE state = 'leased' AND partition = ?
    """

  /// Id: no total counts its rows any more.
  private static let clear: SQL = """
    UPDATE partitions SET paused_at = NULL, pending_count = 0, leased_count = 0, dead_count = 0,
      history_count = 0, history_bytes = 0, ill_hosts = 0, pause_count = 0, overtakings = 0
    WHERE id = ?
    """

  /// Takes everything from the account: from the commit on no reader finds any of it. The rows stay
  /// in the file until ``Erasure/finish(patience:willOverwrite:)``.
  ///
  /// - Throws: `StorageError`.
  mutating func erase() throws {
    let old = self.partition.id
    let leased = try self.connection.rows(Self.leased, old) { try $0.integer(at: 0) }
    self.outcome.revocations += leased.map { ($0, .lost) }
    self.outcome.endedLeases.formUnion(leased)
    var partition = self.partition
    partition.epoch &+= 1
    partition.id = try Erasure.begin(
      old, named: self.name, epoch: partition.epoch, revision: partition.revision,
      on: self.connection)
    try self.connection.execute(Self.clear, old)
    partition.isNamed = false
    partition.isErasing = true
    partition.pausedAt = nil
    partition.counts = OutboxCounts()
    (partition.illHosts, partition.pauseCount, partition.turns) = (0, 0, ClaimTurns())
    (partition.historyCount, partition.historyBytes) = (0, 0)
    self.memory = OutboxMemory(partition: partition)
    (self.hosts, self.pauses) = (nil, [:])
    self.outcome.hasErased = true
    self.tell(.erased)
  }
}
