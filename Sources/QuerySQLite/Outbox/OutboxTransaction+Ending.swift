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
    self.tell(OutboxEvent(ended.outcome, of: ended.id, successor: ended.successor))
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

  /// Does with a row what a transition asks for.
  ///
  /// - Parameters:
  ///   - row: The row as it was.
  ///   - standing: What the transition has made of its standing.
  ///   - sequel: What it asks for.
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
      try self.end(row, as: HistoryRow(row, outcome, endedAt: self.nowAt))
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
