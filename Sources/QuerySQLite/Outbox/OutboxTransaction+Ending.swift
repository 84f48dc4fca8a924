import Foundation
import Query

// MARK: - Ending

extension OutboxTransaction {
  /// Moves a row to the history, and lets its dependants continue, or die.
  ///
  /// - Throws: `StorageError`.
  mutating func end(_ row: OutboxRow, as ended: HistoryRow) throws {
    var ended = ended
    ended.startedAt = try self.startOfLastAttempt(of: row)
    let dependants = try self.dependants(of: row.number)
    try ended.insert(partition: self.partition.id, on: self.connection)
    self.partition.historyCount += 1
    self.partition.historyBytes += Int64(ended.byteCount)
    if ended.effects != nil { self.outcome.hasEffects = true }
    try self.remove(row, isNeeded: !dependants.isEmpty)
    self.tell(ended.event)
    for dependant in dependants { try self.release(dependant, from: ended.outcome) }
    try self.pruneHistory(of: ended.name, instance: ended.instance)
  }

  /// The rows that wait for another one's success.
  private mutating func dependants(of number: Int64) throws -> [Int64] {
    if self.memory.isFreeOfDependencies { return [] }
    let dependants = try self.connection.rows(DependencyRow.dependants, number) {
      try $0.integer(at: 0)
    }
    if dependants.isEmpty {
      let isAny = try self.connection.first(DependencyRow.any) { _ in true }
      self.memory.isFreeOfDependencies = isAny == nil
    }
    return dependants
  }

  private func startOfLastAttempt(of row: OutboxRow) throws -> Int64? {
    if row.standing.attempts == 0 { return nil }
    if let lease = row.standing.lease { return lease.startedAt }
    return try self.connection.first(AttemptRow.readStart, row.id, row.standing.attempts) {
      try $0.integer(at: 0)
    }
  }

  /// Releases a row whose dependency has ended, or makes it dead.
  private mutating func release(
    _ number: Int64,
    from outcome: RecordedMutation.Outcome
  ) throws {
    guard var row = try self.row(number), row.standing.state == .pending else { return }
    switch outcome {
    case .succeeded, .superseded:
      if !row.hasDependencies { try self.refreshHead(&row) }
    case .cancelled, .discarded: try self.kill(&row, .dependency)
    }
  }

  /// Makes a row dead.
  ///
  /// - Throws: `StorageError`.
  mutating func kill(_ row: inout OutboxRow, _ reason: MutationDeadReason) throws {
    try self.update(&row) { standing in
      standing.state = .dead
      standing.deadReason = reason
      standing.waitReason = nil
      standing.awaitedAlias = nil
      standing.wait = nil
      standing.lease = nil
    }
    self.tell(.dead(row.id, reason))
  }
}

extension HistoryRow {
  /// The event of the end.
  var event: OutboxEvent {
    switch self.outcome {
    case .succeeded: .succeeded(self.id)
    case .cancelled: .cancelled(self.id)
    case .superseded: .superseded(self.id, by: self.successor)
    case .discarded: .discarded(self.id)
    }
  }
}

// MARK: - Aliases

extension OutboxTransaction {
  /// Stores what an attempt has published, and releases the rows that wait for it.
  ///
  /// - Throws: `StorageError`.
  mutating func publish(_ aliases: [String: String], by id: UUID) throws {
    if aliases.isEmpty { return }
    self.memory.isFreeOfAliases = false
    let newest =
      try self.connection.first(AliasRow.newestNumber) { try $0.integer(at: 0) } ?? 0
    for (alias, value) in aliases.sorted(by: { $0.key < $1.key }) {
      try self.connection.execute(
        AliasRow.insert, self.partition.id, alias, value, id, self.nowAt, newest)
      let waiting = try self.connection.rows(AliasRow.awaiting, self.partition.id, alias) {
        try $0.integer(at: 0)
      }
      for number in waiting {
        guard var row = try self.row(number) else { continue }
        try self.update(&row) { $0.awaitedAlias = nil }
      }
    }
  }

  /// Whether an alias has a value.
  func hasAlias(_ alias: String) throws -> Bool {
    try self.connection.first(AliasRow.read, self.partition.id, alias) { _ in true } ?? false
  }

  /// Whether an earlier live row may publish something.
  func hasEarlierLive(than number: Int64) throws -> Bool {
    try self.connection.first(AliasRow.hasEarlier, self.partition.id, number) { _ in true }
      ?? false
  }

  /// Makes rows dead that wait for an alias that no row can publish any more.
  mutating func endVainWaits() throws {
    if self.memory.isFreeOfAwaiting { return }
    let waiting = try self.connection.rows(AliasRow.allAwaiting, self.partition.id) {
      try $0.integer(at: 0)
    }
    self.memory.isFreeOfAwaiting = waiting.isEmpty
    for number in waiting.sorted() {
      if try self.hasEarlierLive(than: number) { continue }
      guard var row = try self.row(number), row.standing.state == .pending else { continue }
      try self.kill(&row, .dependency)
    }
  }
}
