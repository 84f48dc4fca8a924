import Foundation
import Query

// MARK: - Settling

extension OutboxTransaction {
  /// Records how an attempt ended.
  ///
  /// - Parameter effects: What to invalidate in the cache after a success.
  /// - Returns: Whether this lease still held.
  /// - Throws: `StorageError`.
  mutating func settle(
    _ lease: MutationLease,
    _ outcome: AttemptOutcome,
    effects: String?
  ) throws -> Bool {
    guard lease.epoch == Int(self.partition.epoch), var row = try self.leasedRow(lease)
    else { return false }
    switch outcome {
    case .succeeded(let success): try self.succeed(row, success, effects)
    case .cancelled(let maybeApplied):
      try self.endAttempt(row, "cancelled")
      try self.cancel(&row, maybeApplied: maybeApplied)
    case .failed(let failure): try self.fail(&row, failure)
    }
    return true
  }

  /// The row of a lease, if that still holds.
  private func leasedRow(_ lease: MutationLease) throws -> OutboxRow? {
    guard let owner = self.terms.owner else { return nil }
    let number = Int64(lease.entry.number)
    if let held = self.terms.leases[number], held.lease === lease {
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
    guard let row = try self.row(number), row.id == lease.entry.id, row.standing.state == .leased,
      row.standing.token == Int64(lease.token), row.standing.lease?.owner == owner
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
    ended.error = success.warning
    ended.result = success.result
    ended.effects = effects
    // Publish before the row is removed: a waiting row must find the alias, or it would wait in
    // vain.
    try self.publish(success.aliases, by: row.id)
    try self.end(row, as: ended)
  }

  /// Ends a row that a caller has cancelled.
  ///
  /// - Throws: `StorageError`.
  mutating func cancel(_ row: inout OutboxRow, maybeApplied: Bool = false) throws {
    row.standing.maybeApplied = row.standing.maybeApplied || maybeApplied
    try self.end(row, as: HistoryRow(row, .cancelled, endedAt: self.nowAt))
  }

  /// Records an unsuccessful attempt of a leased row.
  ///
  /// - Parameter outcome: How it ended; nil: unknown.
  /// - Throws: `StorageError`.
  func endAttempt(
    _ row: OutboxRow,
    _ outcome: String?,
    code: Int? = nil,
    error: RestoredError? = nil
  ) throws {
    guard let lease = row.standing.lease else { return }
    let (number, endedAt) = (row.standing.attempts, outcome == nil ? nil : self.nowAt)
    try self.connection.insert(isNew: true, AttemptRow.insert, AttemptRow.write) { sql in
      try self.connection.execute(
        sql, row.id, number, lease.owner, lease.startedAt, endedAt, outcome, code,
        error?.typeName, error?.text)
    }
    if number > AttemptRow.maximum {
      try self.connection.execute(AttemptRow.prune, row.id, number - AttemptRow.maximum + 1)
    }
  }

  private mutating func fail(_ row: inout OutboxRow, _ failure: FailedAttempt) throws {
    try self.endAttempt(row, failure.outcome, code: failure.code, error: failure.error)
    row.standing.didFail(failure, at: self.nowAt)
    if row.standing.isCancelRequested { return try self.cancel(&row) }
    switch failure.next {
    case .dead(let reason): return try self.kill(&row, reason)
    case .drop:
      return try self.end(row, as: HistoryRow(row, .superseded, endedAt: self.nowAt))
    case .retry(let arguments, let key, _):
      try self.replaceContent(of: &row, arguments: arguments, key: key)
    case .waitForAlias(let alias):
      if try !self.hasAlias(alias), try !self.hasEarlierLive(than: row.number) {
        return try self.kill(&row, .dependency)
      }
    case .now, .wait, .waitForCredentials: break
    }
    let isKnown = try failure.next.awaitedAlias.map { try self.hasAlias($0) } ?? true
    let (now, credentialsEpoch) = (self.now, self.partition.credentialsEpoch)
    try self.update(&row) { standing in
      standing.makePending()
      switch failure.next {
      case .wait(let reason, let delay):
        standing.waitReason = reason
        standing.wait = OutboxDelay(delay, from: now)
      case .waitForCredentials:
        // If new credentials came while it was refused, it is retried with those.
        if standing.credentialsEpoch == credentialsEpoch { standing.waitReason = .authentication }
      case .waitForAlias(let alias): standing.awaitedAlias = isKnown ? nil : alias
      case .retry(_, _, let delay):
        if delay > .zero {
          (standing.waitReason, standing.wait) = (.backoff, OutboxDelay(delay, from: now))
        }
      case .now, .dead, .drop: break
      }
    }
    self.tell(.pending(row.id))
  }

  /// Gives a row other arguments and another key; its last attempt keeps the old ones.
  ///
  /// - Throws: `StorageError`.
  func replaceContent(of row: inout OutboxRow, arguments: Data, key: String) throws {
    let isNew = arguments != row.arguments
    try self.connection.execute(
      AttemptRow.replace, row.idempotencyKey, isNew ? row.arguments : nil, row.id,
      row.standing.attempts)
    try row.replaceContent(arguments: arguments, key: key, on: self.connection)
  }
}

extension FailedAttempt.Next {
  fileprivate var awaitedAlias: String? {
    if case .waitForAlias(let alias) = self { return alias }
    return nil
  }
}

extension OutboxRow.Standing {
  /// Counts a failure.
  fileprivate mutating func didFail(_ failure: FailedAttempt, at date: Int64) {
    if failure.isCharged { self.failures += 1 }
    self.maybeApplied = self.maybeApplied || failure.maybeApplied
    self.crashCount = 0
    self.lastError = failure.error
    self.lastFailure = failure.outcome
    self.failedAt = date
  }

  /// Makes it pending, due at once, and waiting for nothing.
  mutating func makePending() {
    self.state = .pending
    self.waitReason = nil
    self.deadReason = nil
    self.awaitedAlias = nil
    self.wait = nil
    self.lease = nil
  }
}
