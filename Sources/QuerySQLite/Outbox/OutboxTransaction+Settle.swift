import FoundationEssentials
import Query

// MARK: - Settling

extension OutboxTransaction {
  /// Records how an attempt ended.
  ///
  /// - Parameter effects: What to invalidate in the cache after a success, or once the row is dropped.
  /// - Returns: Whether this lease still held.
  /// - Throws: `StorageError`.
  mutating func settle(
    _ lease: MutationLease,
    _ outcome: AttemptOutcome,
    effects: String?
  ) throws -> Bool {
    guard lease.epoch == Int(self.partition.epoch), var row = try self.leasedRow(lease)
    else { return false }
    try self.note(outcome.hostReport, of: row)
    var standing = row.standing
    let sequel = standing.settle(
      outcome, try self.prospect(of: outcome, row.number),
      credentialsEpoch: self.partition.credentialsEpoch, at: self.now)
    switch outcome {
    case .succeeded(let success):
      row.standing = standing
      try self.succeed(row, success, effects)
    case .cancelled:
      try self.endAttempt(row, "cancelled")
      try self.follow(sequel, &row, to: standing)
    case .failed(let failure):
      try self.endAttempt(
        row, failure.outcome, code: failure.code, error: failure.error,
        response: failure.response)
      if sequel == .pending, case .retry(let arguments, let key, _) = failure.next {
        try self.replaceContent(
          of: &row, arguments: arguments, version: failure.version, key: key,
          editedPaths: failure.editedPaths)
      }
      if case .ended(let ending) = sequel, let effects {
        row.standing = standing
        var ended = HistoryRow(row, ending, endedAt: self.nowAt)
        ended.effects = effects
        try self.end(row, as: ended)
      } else {
        try self.follow(sequel, &row, to: standing)
      }
    }
    return true
  }

  /// Whether a row can get the alias that its attempt asks for.
  private func prospect(
    of outcome: AttemptOutcome, _ number: Int64
  ) throws -> OutboxStanding.AliasProspect {
    guard case .failed(let failure) = outcome, let alias = failure.next.awaitedAlias,
      try !self.hasAlias(alias)
    else { return .published }
    return try self.hasEarlierLive(than: number) ? .awaited : .vain
  }

  /// The leased row, if this lease still holds.
  private func leasedRow(_ lease: MutationLease) throws -> OutboxRow? {
    guard let owner = self.terms.owner else { return nil }
    let number = Int64(lease.entry.number)
    // A row that was leased behind the head of its lane may have become the head.
    if let held = self.terms.leases[number], held.lease === lease,
      held.leased.row.lane == nil || held.leased.row.isHead
    {
      if self.memory.leases.contains(number) { return held.leased.row }
      // Nothing else of the row changes while it is leased.
      let isCancelRequested = try self.connection.first(
        OwnerRow.readLease, number, owner, lease.token
      ) { try $0.bool(at: 0) }
      guard let isCancelRequested else { return nil }
      var row = held.leased.row
      row.standing.isCancelRequested = isCancelRequested
      return row
    }
    guard let row = try self.row(number), row.id == lease.entry.id,
      row.standing.isLeased(by: owner, token: lease.token)
    else { return nil }
    return row
  }

  private mutating func succeed(
    _ row: OutboxRow,
    _ success: SuccessfulAttempt,
    _ effects: String?
  ) throws {
    // The history records its attempt.
    var ended = HistoryRow(row, .succeeded, endedAt: self.nowAt)
    ended.result = success.result
    ended.effects = effects
    // Publish before the row is removed: otherwise a row that waits for the alias would wait for ever.
    try self.publish(success.aliases, by: row.id)
    try self.end(row, as: ended)
  }

  /// Records an unsuccessful attempt of a leased row.
  ///
  /// - Parameter outcome: How it ended; nil: unknown.
  /// - Throws: `StorageError`.
  func endAttempt(
    _ row: OutboxRow,
    _ outcome: String?,
    code: Int? = nil,
    error: RestoredError? = nil,
    response: Data? = nil
  ) throws {
    guard let lease = row.standing.lease else { return }
    let (number, endedAt) = (row.standing.attempts, outcome == nil ? nil : self.nowAt)
    try self.connection.insert(isNew: true, AttemptRow.insert, AttemptRow.write) { sql in
      try self.connection.execute(
        sql, row.id, number, lease.owner, lease.startedAt, endedAt, outcome, code,
        error?.typeName, error?.text, response)
    }
    if number > AttemptRow.maximum {
      try self.connection.execute(AttemptRow.prune, row.id, number - AttemptRow.maximum + 1)
    }
  }

  /// Gives a row other arguments and another key; the record of its last attempt keeps the old ones.
  ///
  /// - Parameters:
  ///   - version: The version of the arguments; nil: that of the row.
  ///   - editedPaths: Which queries are changed with the arguments; nil: those that the row names.
  /// - Throws: `StorageError`.
  func replaceContent(
    of row: inout OutboxRow, arguments: Data, version: Int?, key: String,
    editedPaths: EditedPaths? = nil
  ) throws {
    let isNew = arguments != row.arguments
    try self.connection.execute(
      AttemptRow.replace, row.idempotencyKey, isNew ? row.arguments : nil, row.id,
      row.standing.attempts)
    try row.replaceContent(
      arguments: arguments, version: version, key: key, editedPaths: editedPaths,
      on: self.connection)
  }
}

// MARK: - Ending

extension OutboxTransaction {
  /// Moves a row to the history, and lets its dependants continue, or die.
  ///
  /// - Throws: `StorageError`.
  mutating func end(_ row: OutboxRow, as ended: HistoryRow) throws {
    var ended = ended
    ended.startedAt = try self.startOfLastAttempt(of: row)
    let isNeeded = try self.hasDependants(row.number)
    let sequence = try self.takeSequence()
    do {
      try ended.insert(partition: self.partition.id, sequence: sequence, on: self.connection)
    } catch StorageError.Code.constraint {
      // A record of an earlier end, as a tool or damage may leave beside a live row.
      try self.removeRecord(of: ended.id)
      try ended.insert(partition: self.partition.id, sequence: sequence, on: self.connection)
    }
    self.partition.historyCount += 1
    self.partition.historyBytes += Int64(ended.byteCount)
    if ended.effects != nil { self.outcome.hasEffects = true }
    try self.remove(row)
    self.tell(OutboxEvent(ended.outcome, of: ended.id, successor: ended.successor))
    if isNeeded { try self.releaseDependants(of: row.number, from: ended.outcome) }
    try self.pruneHistory(of: ended.entry.name, instance: ended.entry.instance)
  }

  private static let recorded: SQL = "SELECT partition, byte_count FROM history WHERE id = ?"
  private static let removeRecorded: SQL = "DELETE FROM history WHERE id = ?"

  private mutating func removeRecord(of id: UUID) throws {
    let record = try self.connection.first(Self.recorded, id) {
      (partition: try $0.integer(at: 0), bytes: try $0.integer(at: 1))
    }
    try self.connection.execute(Self.removeRecorded, id)
    guard let record, record.partition == self.partition.id else { return }
    self.partition.historyCount -= 1
    self.partition.historyBytes -= record.bytes
  }

  private func startOfLastAttempt(of row: OutboxRow) throws -> Int64? {
    if row.standing.attempts == 0 { return nil }
    if let lease = row.standing.lease { return lease.startedAt }
    return try self.connection.first(AttemptRow.readStart, row.id, row.standing.attempts) {
      try $0.integer(at: 0)
    }
  }

  /// Applies the consequence of a transition to a row.
  ///
  /// - Parameters:
  ///   - row: The row as it was.
  ///   - standing: Its standing after the transition.
  ///   - sequel: The consequence.
  /// - Throws: `StorageError`.
  mutating func follow(
    _ sequel: OutboxStanding.Sequel, _ row: inout OutboxRow, to standing: OutboxStanding
  ) throws {
    switch sequel {
    case .pending:
      try self.update(&row, to: standing)
      self.tell(.pending(row.id))
    case .dead(let reason):
      try self.update(&row, to: standing)
      self.tell(.dead(row.id, reason))
    case .ended(let outcome):
      row.standing = standing
      var ended = HistoryRow(row, outcome, endedAt: self.nowAt)
      // Nobody has the mutation's code here, but its server may have carried it out.
      if standing.maybeApplied, outcome == .cancelled || outcome == .discarded {
        ended.effects = row.enqueued.editedPaths.flatMap(OutboxEffects.text(of:))
      }
      try self.end(row, as: ended)
    }
  }

  /// Makes a row dead.
  ///
  /// - Throws: `StorageError`.
  mutating func kill(_ row: inout OutboxRow, _ reason: MutationDeadReason) throws {
    var standing = row.standing
    try self.follow(standing.kill(reason), &row, to: standing)
  }
}

// MARK: - Reaping

extension OutboxTransaction {
  /// A lease of the partition.
  private struct Lease {
    let owner: String
    let bootID: String
    let endMonotonic: Int64
    let number: Int64

    init(_ row: SQLiteStatement) throws {
      self.owner = try row.optionalText(at: 0) ?? ""
      self.bootID = try row.optionalText(at: 1) ?? ""
      self.endMonotonic = try row.optionalInteger(at: 2) ?? 0
      self.number = try row.integer(at: 3)
    }
  }

  /// Takes back rows whose owner has exited, or has sent no heartbeat for a whole lease.
  ///
  /// - Returns: How long until the next lease of another process ends; nil if there is none.
  /// - Throws: `StorageError`.
  mutating func reap() throws -> Duration? {
    let leases = try self.connection.rows(OwnerRow.leases, self.partition.id) { try Lease($0) }
    var first: Int64?
    // How many rows each owner that has exited had leased.
    var gone = [String: Int?]()
    for lease in leases {
      if lease.owner == self.terms.owner {
        // If no caller here holds the lease, its commit was reported to this process as failed.
        let isHeld =
          self.terms.leases[lease.number] != nil || self.outcome.leases[lease.number] != nil
        if !isHeld { try self.reap(lease) { _ in .release } }
        continue
      }
      let count = try gone[lease.owner] ?? self.leaseCount(ofExited: lease.owner)
      gone.updateValue(count, forKey: lease.owner)
      if let count {
        self.outcome.hasReaped = true
        // If its owner ran in an earlier boot, the machine went down: that is no crash of the owner.
        let isCrash = lease.bootID == self.now.bootID
        let length = self.terms.leaseLength
        try self.reap(lease) { held in
          isCrash
            ? .crash(isAlone: count == 1, hasRunLong: held.hasRunLong(length)) : .release
        }
        continue
      }
      let left = self.remaining(lease)
      if left <= 0 {
        try self.reap(lease) { _ in .release }
      } else {
        first = min(first ?? left, left)
      }
    }
    return first.map { .microseconds($0) }
  }

  /// How many microseconds a lease still lasts. One of another boot has other clocks: it lasts as
  /// long as its owner is seen to extend it.
  private func remaining(_ lease: Lease) -> Int64 {
    let now = Int64(self.now.monotonic)
    if lease.bootID == self.now.bootID { return lease.endMonotonic.clampedDifference(now) }
    return self.terms.reaper.remaining(
      of: lease.number, endMonotonic: lease.endMonotonic, now: now,
      length: self.terms.leaseLength.microseconds)
  }

  /// Owner, the microseconds between the begin of an attempt and the end of its lease: how many rows it has
  /// leased, of all accounts, that did not last so long.
  private static let countOfOwner: SQL = """
    SELECT count(*) FROM outbox INDEXED BY outbox_leased
    WHERE state = 'leased' AND lease_owner = ?1
      AND (coalesce(lease_started_monotonic, 0) <= 0
        OR lease_end_monotonic - lease_started_monotonic < ?2)
    """

  /// How many attempts of an owner may have crashed it; nil if it has not exited.
  private func leaseCount(ofExited owner: String) throws -> Int? {
    guard self.terms.reaper.isGone(owner) else { return nil }
    let long = (OutboxStanding.longRun + self.terms.leaseLength).microseconds
    return try self.connection.first(Self.countOfOwner, owner, long) {
      Int(try $0.integer(at: 0))
    }
  }

  /// Takes back a row whose attempt no process runs any more.
  private mutating func reap(
    _ lease: Lease, _ loss: (OutboxStanding.Lease) -> OutboxStanding.Loss
  ) throws {
    guard var row = try self.row(lease.number), row.standing.state == .leased else { return }
    try self.endAttempt(row, nil)
    var standing = row.standing
    let sequel = standing.lose(standing.lease.map(loss) ?? .release, at: self.now)
    guard sequel == .pending else { return try self.follow(sequel, &row, to: standing) }
    try self.update(&row, to: standing)
    self.tell(.reaped(row.id))
  }

  /// Gives back a row that this process runs, when it stops.
  ///
  /// - Throws: `StorageError`.
  mutating func giveBack(_ number: Int64, token: Int) throws {
    guard let owner = self.terms.owner, var row = try self.row(number),
      row.standing.isLeased(by: owner, token: token)
    else { return }
    try self.endAttempt(row, nil)
    var standing = row.standing
    try self.follow(standing.lose(.release, at: self.now), &row, to: standing)
  }
}
