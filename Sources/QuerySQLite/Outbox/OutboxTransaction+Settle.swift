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
      try self.endAttempt(row, failure.outcome, code: failure.code, error: failure.error)
      if sequel == .pending, case .retry(let arguments, let key, _) = failure.next {
        try self.replaceContent(of: &row, arguments: arguments, key: key)
      }
      try self.follow(sequel, &row, to: standing)
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
    // Publish before the row is removed: a waiting row must find the alias, or it would wait in
    // vain.
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
