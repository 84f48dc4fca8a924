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
    let isNeeded = try self.hasDependants(row.number)
    try ended.insert(partition: self.partition.id, on: self.connection)
    self.partition.historyCount += 1
    self.partition.historyBytes += Int64(ended.byteCount)
    if ended.effects != nil { self.outcome.hasEffects = true }
    try self.remove(row)
    self.tell(ended.event)
    if isNeeded { try self.releaseDependants(of: row.number, from: ended.outcome) }
    try self.pruneHistory(of: ended.entry.name, instance: ended.entry.instance)
  }

  private func startOfLastAttempt(of row: OutboxRow) throws -> Int64? {
    if row.standing.attempts == 0 { return nil }
    if let lease = row.standing.lease { return lease.startedAt }
    return try self.connection.first(AttemptRow.readStart, row.id, row.standing.attempts) {
      try $0.integer(at: 0)
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
