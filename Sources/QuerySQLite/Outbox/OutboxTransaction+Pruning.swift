import Foundation
import Query

// MARK: - History

extension OutboxTransaction {
  /// A row of the history that is to go.
  private struct Doomed {
    let sequence: Int64
    let id: UUID
    let bytes: Int64

    init(_ row: SQLiteStatement) throws {
      self.sequence = try row.integer(at: 0)
      self.id = try row.uuid(at: 1)
      self.bytes = try row.integer(at: 2)
    }
  }

  /// So many of a mutation may stand beyond the limit until they are removed together. Nobody is shown
  /// them.
  private static let pruningBatch = 16

  /// Partition, name, instance, how many stay.
  private static let beyondCount: SQL = """
    SELECT sequence, id, byte_count FROM history
    WHERE partition = ? AND name = ? AND instance = ? ORDER BY sequence DESC LIMIT -1 OFFSET ?
    """

  /// Partition, name, instance, how many may stand: whether there are more.
  private static let hasBeyondCount: SQL = """
    SELECT 1 FROM history WHERE partition = ? AND name = ? AND instance = ?
    ORDER BY sequence DESC LIMIT 1 OFFSET ?
    """

  /// Partition: the oldest first.
  private static let oldest: SQL = """
    SELECT sequence, id, byte_count FROM history WHERE partition = ? ORDER BY sequence
    """

  /// Partition, date.
  private static let before: SQL = """
    SELECT sequence, id, byte_count FROM history WHERE partition = ? AND ended_at < ?
    """

  /// Sequence.
  private static let delete: SQL = "DELETE FROM history WHERE sequence = ?"

  /// Partition, name, instance.
  private static let ofMutation: SQL = """
    SELECT sequence, id, byte_count FROM history WHERE partition = ? AND name = ? AND instance = ?
    """

  /// Removes what is beyond the limits. Live and dead rows are no history.
  ///
  /// - Throws: `StorageError`.
  mutating func pruneHistory(of name: String, instance: String) throws {
    let limits = self.terms.limits
    if limits.perMutation > 0 {
      // Several at a time: their rows stand together, and those that end now stand elsewhere.
      let tolerated = limits.perMutation + min(limits.perMutation / 4, Self.pruningBatch)
      let isBeyond = try self.connection.first(
        Self.hasBeyondCount, self.partition.id, name, instance, tolerated
      ) { _ in true }
      if isBeyond == true {
        let doomed = try self.connection.rows(
          Self.beyondCount, self.partition.id, name, instance, limits.perMutation
        ) { try Doomed($0) }
        try self.delete(doomed)
      }
    }
    if self.terms.isHistoryAgeDue && !self.outcome.hasPrunedByAge { try self.pruneOldHistory() }
    // The last to end stays however large it is: who waits for it must hear of it.
    while self.partition.historyCount > 1, self.isHistoryTooLarge {
      guard let first = try self.connection.first(Self.oldest, self.partition.id, read: Doomed.init)
      else {
        (self.partition.historyCount, self.partition.historyBytes) = (0, 0)
        return
      }
      try self.delete([first])
    }
  }

  /// Removes what is older than the history's days.
  ///
  /// - Throws: `StorageError`.
  private mutating func pruneOldHistory() throws {
    self.outcome.hasPrunedByAge = true
    let days = self.terms.limits.days
    if days <= 0 || self.partition.historyCount == 0 { return }
    let first = self.nowAt.clampedDifference(Int64(days) * 86_400_000_000)
    let doomed = try self.connection.rows(Self.before, self.partition.id, first) { try Doomed($0) }
    try self.delete(doomed)
    try self.pruneAliases(before: first)
  }

  private var isHistoryTooLarge: Bool {
    let limits = self.terms.limits
    return limits.total > 0 && self.partition.historyCount > limits.total
      || limits.bytes > 0 && self.partition.historyBytes > limits.bytes
  }

  /// Removes the ended mutations of a name and instance.
  ///
  /// - Throws: `StorageError`.
  mutating func clearHistory(of name: String, instance: String) throws {
    let doomed = try self.connection.rows(
      Self.ofMutation, self.partition.id, name, instance
    ) { try Doomed($0) }
    try self.delete(doomed)
    if !doomed.isEmpty { self.outcome.isChanged = true }
  }

  private mutating func delete(_ doomed: [Doomed]) throws {
    for row in doomed {
      try self.connection.execute(Self.delete, row.sequence)
      try self.connection.execute(AttemptRow.delete, row.id)
      self.partition.historyCount = max(self.partition.historyCount - 1, 0)
      self.partition.historyBytes = max(self.partition.historyBytes - row.bytes, 0)
    }
  }

  /// Removes aliases that are old, and that no live row can ask for any more.
  private func pruneAliases(before date: Int64) throws {
    // Seldom, and where others have many rows in front it is a long way to the first.
    let isAnyOld = try self.connection.first(AliasRow.hasOld, self.partition.id, date) { _ in true }
    guard isAnyOld == true else { return }
    let firstLive = try self.connection.first(AliasRow.firstLive, self.partition.id) {
      try $0.integer(at: 0)
    }
    try self.connection.execute(AliasRow.prune, self.partition.id, date, firstLive ?? .max)
  }
}
