import FoundationEssentials

/// The behaviour of an outbox, as transitions of a value: the reference for outboxes on disk.
///
/// Time is a parameter, nothing is concurrent, and no callback is called: each transition adds what others
/// must be told to ``effects``. A transition that throws has changed nothing. The table scans all its rows,
/// while an outbox on disk has indexes.
struct OutboxTable: Sendable {
  /// The live and dead mutations, the lowest number first.
  var rows = [OutboxRow]()
  /// The ended mutations, in the order of ending.
  var history = [EndedMutation]()
  /// What is kept of mutations that the history has forgotten.
  var forgotten = ForgottenMutations()
  /// The attempts of both, the oldest first.
  var attempts = [UUID: [OutboxAttempt]]()
  /// The published aliases.
  var aliases = [String: OutboxAlias]()
  /// What is paused, and since when.
  var pauses = OutboxPauses()
  /// How often in a row more urgent rows went first.
  var turns = ClaimTurns()
  /// The handlers of this process as of the last claim; nil if there was no claim.
  var handlers: Set<MutationHandler>?
  /// The newest number. It only ever grows.
  var lastNumber = 0
  /// The place of the last ended mutation in the order of ending.
  var lastSequence = 0
  /// Incremented by each erasure: a lease from before it cannot be settled after it.
  var epoch = 0
  /// Incremented each time that credentials change.
  var credentialsEpoch: Int64 = 0
  /// The hosts that are not well.
  var hosts = [String: HostStanding]()
  /// The effects of the transitions since they were taken.
  var effects = OutboxEffects()
  /// How many rows were declared dead since the last claim, since they grew too old.
  var expired = 0
  /// How much history is kept.
  let limits: MutationHistoryLimits
  /// Whether a stored value lacks an edit of a success.
  let isMissing: @Sendable (EditedPaths, Int64) -> Bool

  /// An empty outbox.
  init(
    limits: MutationHistoryLimits = MutationHistoryLimits(),
    isMissing: @escaping @Sendable (EditedPaths, Int64) -> Bool = { _, _ in false }
  ) {
    self.limits = limits
    self.isMissing = isMissing
  }

  /// Returns the effects of the transitions since the last call.
  mutating func takeEffects() -> OutboxEffects {
    defer { self.effects = OutboxEffects() }
    return self.effects
  }
}

// MARK: - Looking up

extension OutboxTable {
  /// The index in ``rows`` of a live or dead mutation.
  func index(of id: UUID) -> Int? { self.rows.firstIndex { $0.entry.id == id } }

  /// As ``index(of:)``, for a mutation that must be there.
  ///
  /// - Throws: ``OutboxError/ended(_:)``, ``OutboxError/unknown(_:)``.
  func requireIndex(of id: UUID) throws(OutboxError) -> Int {
    if let index = self.index(of: id) { return index }
    throw self.ended(id) == nil ? .unknown(id) : .ended(id)
  }

  /// A mutation that ended, as long as the history has it.
  func ended(_ id: UUID) -> EndedMutation? { self.history.last { $0.record.id == id } }

  /// The numbers of the rows that are first in their lanes: one that runs, else the lowest that is live, or
  /// dead and holds the lane. A row without a lane is in a lane of its own.
  var heads: Set<Int> {
    var heads = Set<Int>()
    var lanes = Set<String>()
    // One that was dead may have been retried while a later one of its lane runs.
    for isRunning in [true, false] {
      for row in self.rows where row.holdsLane && (row.standing.state == .leased) == isRunning {
        if let lane = row.entry.lane, !lanes.insert(lane).inserted { continue }
        heads.insert(row.entry.number)
      }
    }
    return heads
  }

  /// The row that the others of a lane wait for.
  func head(ofLane lane: String) -> OutboxRow? {
    var first: OutboxRow?
    for row in self.rows where row.entry.lane == lane && row.holdsLane {
      if row.standing.state == .leased { return row }
      first = first ?? row
    }
    return first
  }

  /// Whether a row is first in its lane.
  func isHead(_ row: OutboxRow) -> Bool {
    guard let lane = row.entry.lane else { return row.holdsLane }
    return self.head(ofLane: lane)?.entry.number == row.entry.number
  }

  /// Whether a row may run now if it is first in its lane.
  func mayRun(_ row: OutboxRow, isHead: Bool, at time: OutboxTime) -> Bool {
    isHead && self.pauses.first(holding: row.entry) == nil
      && row.standing.isReady(hasDependencies: !row.dependencies.isEmpty, at: time)
  }
}

// MARK: - Hosts

extension OutboxTable {
  /// Whether the host of a row has asked to be left alone, which applies even to the mutation's own caller.
  func hostHoldsCallers(of row: OutboxRow, at time: OutboxTime) -> Bool {
    self.hosts[row.entry.effectiveHost]?.holdsCallers(at: time) ?? false
  }

  /// The slots of a claim, less those that the hosts' standing does not allow.
  func slots(of request: ClaimRequest, at time: OutboxTime) -> HostSlots {
    var slots = request.hostSlots
    for (host, standing) in self.hosts {
      let isProbed = self.probeLeft(standing, at: time) != nil
      slots.limit(host, by: standing, isProbed: isProbed, at: time)
    }
    return slots
  }

  /// How long the probe of a host holds the others back; nil: none does.
  func probeLeft(_ standing: HostStanding, at time: OutboxTime) -> Duration? {
    let row = self.rows.first {
      Int64($0.entry.number) == standing.probe && $0.standing.state == .leased
    }
    return row?.standing.lease.flatMap { HostStanding.left(ofProbe: $0, at: time) }
  }

  /// Notes the end of an attempt.
  mutating func note(_ report: HostReport, of row: OutboxRow, at time: OutboxTime) {
    let host = row.entry.effectiveHost
    self.hosts[host] = HostStanding.after(
      report, self.hosts[host],
      areCredentialsOld: row.standing.credentialsEpoch != self.credentialsEpoch, at: time)
  }
}

// MARK: - What transitions are made of

extension OutboxTable {
  /// Applies the consequence of a transition to a row.
  mutating func follow(_ sequel: OutboxStanding.Sequel, at index: Int, _ time: OutboxTime) {
    let id = self.rows[index].entry.id
    switch sequel {
    case .pending: self.effects.events.append(.pending(id))
    case .dead(let reason): self.effects.events.append(.dead(id, reason))
    case .ended(let outcome): self.end(at: index, outcome, time)
    }
  }

  /// Makes a row dead.
  mutating func kill(at index: Int, _ reason: MutationDeadReason, _ time: OutboxTime) {
    self.follow(self.rows[index].standing.kill(reason), at: index, time)
  }

  /// Moves a row into the history, and lets those that depend on it continue, or die.
  mutating func end(
    at index: Int,
    _ outcome: RecordedMutation.Outcome,
    result: Data? = nil,
    successor: UUID? = nil,
    _ time: OutboxTime
  ) {
    var row = self.rows.remove(at: index)
    // Nobody has the mutation's code here, but its server may have carried it out.
    if row.standing.maybeApplied, outcome == .cancelled || outcome == .discarded,
      let paths = row.entry.editedPaths
    {
      self.effects.missedPaths.insert(paths)
    }
    // Any other end leaves nothing to show.
    if outcome != .succeeded { row.entry.editedPaths = nil }
    self.effects.bodyFiles += BodyNames.split(row.bodyFile)
    let id = row.entry.id
    self.lastSequence += 1
    let record = RecordedMutation(
      self.entry(of: row, isHead: true, at: time), outcome, result: result, endedAt: time.wall,
      successor: successor, sequence: Int64(self.lastSequence))
    self.history.append(
      EndedMutation(
        record: record, outcome: outcome, endedAt: time.wall, sequence: self.lastSequence))
    self.effects.events.append(OutboxEvent(outcome, of: id, successor: successor))
    for index in self.rows.indices where self.rows[index].dependencies.contains(id) {
      // A person who retries one of the dependants wants it sent without this one.
      self.rows[index].dependencies.removeAll { $0 == id }
      if outcome.isMissed, self.rows[index].isLive { self.kill(at: index, .dependency, time) }
    }
  }

  /// Gives a row another key, and perhaps other arguments. The last attempt keeps what it was sent with.
  mutating func replaceKey(
    at index: Int, by key: String, arguments: Data? = nil, version: Int? = nil,
    editedPaths: EditedPaths? = nil
  ) {
    let old = self.rows[index].entry
    if var attempt = self.attempts[old.id]?.popLast() {
      attempt.replacedKey = attempt.replacedKey ?? old.idempotencyKey
      if let arguments, arguments != old.arguments {
        attempt.replacedArguments = attempt.replacedArguments ?? old.arguments
      }
      self.attempts[old.id]?.append(attempt)
    }
    self.rows[index].entry.idempotencyKey = key
    if let arguments { self.rows[index].entry.arguments = arguments }
    if let version { self.rows[index].entry.version = version }
    if let editedPaths { self.rows[index].entry.editedPaths = editedPaths }
  }

  /// Releases rows whose alias is published, and declares those dead for which no earlier live row
  /// could publish it. Call it when an alias was published, or a row is no longer live.
  mutating func resolveAliasWaits(_ time: OutboxTime) {
    for index in self.rows.indices {
      guard let alias = self.rows[index].standing.wait.alias else { continue }
      switch self.prospect(of: alias, at: index) {
      case .published: self.rows[index].standing.wait = .nothing
      case .awaited: break
      case .vain: self.kill(at: index, .dependency, time)
      }
    }
  }

  /// Whether a row can get an alias.
  func prospect(of alias: String, at index: Int) -> OutboxStanding.AliasProspect {
    if self.aliases[alias] != nil { return .published }
    return self.rows[..<index].contains(where: \.isLive) ? .awaited : .vain
  }
}

// MARK: - Enqueueing

extension OutboxTable: OutboxLookup {
  /// Appends a mutation, and leases it if it may run now.
  ///
  /// - Throws: ``OutboxError/unknownDependencies(_:)``, ``OutboxError/ended(_:)`` of a dependency that
  ///   will not succeed; ``StorageError`` if there is a mutation of the same identifier.
  mutating func enqueue(
    _ mutation: NewMutation,
    claiming: Bool,
    at time: OutboxTime
  ) throws -> EnqueuedMutation {
    if let index = self.index(of: mutation.id) {
      let row = self.rows[index]
      let entry = self.entry(of: row, isHead: self.isHead(row), at: time)
      return try self.answer(toRepeated: mutation, entry, at: time)
    }
    if let end = self.ended(mutation.id) {
      return try self.answer(toRepeated: mutation, end.record.entry, at: time)
    }
    if self.forgotten[mutation.id] != nil {
      return try self.answer(toRepeated: mutation, nil, at: time)
    }
    let dependencies: [UUID] = try self.openDependencies(of: mutation)
    self.lastNumber += 1
    var row = OutboxRow(
      entry: OutboxEntry(mutation, number: self.lastNumber, createdAt: time.wall),
      standing: OutboxStanding(mutation, at: time), age: OutboxAge(from: time),
      dependencies: dependencies,
      bodyFile: mutation.bodyFile)
    self.effects.events.append(.enqueued(mutation.id))
    let superseded = self.supersede(by: &row, mutation, at: time)
    self.rows.append(row)
    var lease: MutationLease?
    // If the new row is known to wait for the network, it waits even if its caller claims.
    let isWanted = claiming && mutation.waitReason == nil
    if isWanted, self.mayRun(row, isHead: self.isHead(row), at: time),
      !self.hostHoldsCallers(of: row, at: time)
    {
      lease = self.lease(at: self.rows.count - 1, isReplay: false, time)
    }
    if superseded != nil { self.prune(at: time) }
    let entry = lease?.entry ?? self.entry(of: row, isHead: self.isHead(row), at: time)
    return EnqueuedMutation(entry: entry, lease: lease, superseded: superseded)
  }

  func row(of id: UUID) -> UUID? { self.index(of: id) == nil ? nil : id }

  func end(of id: UUID) -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    self.ended(id).map { ($0.outcome, $0.record.successor) }
      ?? self.forgotten[id].map { ($0.outcome, $0.successor) }
  }

  /// Appends several, or none of them.
  mutating func enqueue(
    _ mutations: [NewMutation], at time: OutboxTime
  ) throws -> [EnqueuedMutation] {
    var table = self
    let enqueued = try mutations.map { try table.enqueue($0, claiming: false, at: time) }
    self = table
    return enqueued
  }
}

// MARK: - Coalescing

extension OutboxTable {
  /// Supersedes the mutation that a new one replaces, if there is one: the last live one of its
  /// lane, of the same name and instance, never tried, and without dependants. The new one inherits
  /// its dependencies.
  private mutating func supersede(
    by row: inout OutboxRow,
    _ mutation: NewMutation,
    at time: OutboxTime
  ) -> UUID? {
    guard let lane = mutation.lane,
      let index = self.rows.lastIndex(where: { $0.entry.lane == lane && $0.isLive })
    else { return nil }
    let old = self.rows[index]
    let hasDependants =
      row.dependencies.contains(old.entry.id)
      || self.rows.contains { $0.dependencies.contains(old.entry.id) }
    guard !hasDependants,
      mutation.replaces(name: old.entry.name, instance: old.entry.instance, old.standing)
    else { return nil }
    for id in old.dependencies where !row.dependencies.contains(id) { row.dependencies.append(id) }
    self.end(at: index, .superseded, successor: mutation.id, time)
    return old.entry.id
  }
}
