import Foundation
import Query

/// What one write transaction does to the outbox of a partition. Begun and finished by
/// ``OutboxWriter``; several callers' jobs may be in one.
///
/// It is a value, so that a job that fails is undone in memory by taking the one from before it.
struct OutboxTransaction {
  /// What holds for all transactions of a process.
  struct Terms {
    /// The name of this process's lock file; nil where it holds none, and may lease nothing.
    var owner: String?
    /// What this process holds, by its own memory and by number.
    var leases: [Int64: OutboxWriter.HeldLease]
    var leaseLength: Duration
    var limits: MutationHistoryLimits
    /// Tells which owners are gone.
    var reaper: OutboxReaper
    /// The latest wall time that was known to be right, microseconds since 1970.
    var synchronisedAt: Int64?
    /// Whether the history's age is looked at. That is done seldom.
    var isHistoryAgeDue: Bool
  }

  /// A row that was leased, as it is as long as the lease is kept.
  struct LeasedRow {
    let lease: MutationLease
    let row: OutboxRow
  }

  /// The name of the account.
  let name: String

  let connection: SQLiteConnection
  let terms: Terms
  let now: OutboxTime

  /// The wall time, microseconds since 1970.
  let nowAt: Int64

  /// What need not be read, as it is known.
  var memory: OutboxMemory

  /// The row of the partition.
  var partition: OutboxPartitionRow {
    get { self.memory.partition }
    set { self.memory.partition = newValue }
  }

  /// The handlers that this process has last asked for.
  var handlers: Set<MutationHandler>?

  /// What is done when this is committed.
  var outcome = Outcome()

  private let before: OutboxPartitionRow

  /// What is done in memory, and told, when a transaction is committed.
  struct Outcome {
    var events = [OutboxEvent]()
    /// Leases that were made, by number.
    var leases = [Int64: LeasedRow]()
    /// The numbers of rows that this process holds no more.
    var endedLeases = Set<Int64>()
    var revocations = [(number: Int64, revocation: MutationLease.Revocation)]()
    /// Files that no row names any more.
    var bodyFiles = [String]()
    var hasEffects = false
    var hasErased = false
    /// Whether the outbox was changed, so that all others are to be told.
    var isChanged = false
    /// Whether a row is live no more, so that one that waits for it may wait in vain.
    var mustCheckAwaiting = false
    /// Whether the history's age was looked at.
    var hasPrunedByAge = false
    /// Whether more of the history has to go, in transactions of their own.
    var mustPrune = false
    var mustPruneByAge = false
  }

  /// Begins to change a partition, in a write transaction; makes it where it is missing.
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
  }

  /// Reads the row of a partition, and makes it where it is missing.
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
    OutboxView(isPaused: self.partition.pausedAt != nil, handlers: self.handlers, now: self.now)
  }

  /// Writes the row of the partition where it has to be.
  ///
  /// - Throws: `StorageError`.
  mutating func finish() throws {
    if self.outcome.mustCheckAwaiting { try self.endVainWaits() }
    if self.outcome.isChanged { self.partition.revision &+= 1 }
    // An account that has rows again is listed by its name.
    let counts = self.partition.counts
    if counts.pending + counts.leased + counts.dead > 0 { self.partition.isNamed = true }
    if self.partition.isNamed != self.before.isNamed {
      try self.partition.saveName(self.name, on: self.connection)
    }
    if self.partition != self.before { try self.partition.save(on: self.connection) }
  }

  /// Takes note of a change that others are told of.
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

  /// Changes where a row stands, and what that means to its lane.
  ///
  /// - Throws: `StorageError`.
  mutating func update(
    _ row: inout OutboxRow,
    _ change: (inout OutboxRow.Standing) -> Void
  ) throws {
    let old = row.standing.state
    change(&row.standing)
    let new = row.standing.state
    if old != new {
      self.count(old, -1)
      self.count(new, 1)
      if old == .leased { self.outcome.endedLeases.insert(row.number) }
      if new == .dead { self.outcome.mustCheckAwaiting = true }
    }
    self.memory.leases.remove(row.number)
    if row.standing.awaitedAlias != nil { self.memory.isFreeOfAwaiting = false }
    try row.saveStanding(on: self.connection)
    if new == .leased, row.isHead {
      // It stays the first of its lane.
      try self.connection.execute(LaneHeadRow.setLeased, row.number)
    } else {
      try self.refreshHead(&row)
    }
  }

  /// Removes a row whose end is recorded.
  ///
  /// - Parameter isNeeded: Whether others depend on it.
  /// - Throws: `StorageError`.
  mutating func remove(_ row: OutboxRow, isNeeded: Bool) throws {
    self.count(row.standing.state, -1)
    self.memory.leases.remove(row.number)
    if row.standing.state == .leased { self.outcome.endedLeases.insert(row.number) }
    if row.standing.state != .dead { self.outcome.mustCheckAwaiting = true }
    if let bodyFile = row.bodyFile { self.outcome.bodyFiles.append(bodyFile) }
    // The connection does not look after the references.
    if isNeeded { try self.connection.execute(DependencyRow.deleteByTarget, row.number) }
    if row.hasDependencies {
      try self.connection.execute(DependencyRow.deleteByDependant, row.number)
    }
    if row.isHead { try self.connection.execute(LaneHeadRow.delete, row.number) }
    try self.connection.execute(OutboxRow.delete, row.number)
    if let lane = row.lane, row.isHead { try self.findHead(of: lane) }
  }

  /// Counts a row. A file whose counts were wrong makes none of them negative.
  mutating func count(_ state: OutboxEntry.State, _ change: Int) {
    switch state {
    case .pending:
      self.partition.counts.pending = max(self.partition.counts.pending + change, 0)
    case .leased: self.partition.counts.leased = max(self.partition.counts.leased + change, 0)
    case .dead: self.partition.counts.dead = max(self.partition.counts.dead + change, 0)
    }
  }
}
