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

  /// Partition, name, instance, how many stay: the newest that goes.
  private static let beyondCount: SQL = """
    SELECT sequence FROM history
    WHERE partition = ? AND name = ? AND instance = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?
    """

  /// Partition, name, instance, the newest that goes: how many do, and how many bytes.
  private static let countUpTo: SQL = """
    SELECT count(*), coalesce(sum(byte_count), 0) FROM history
    WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ?
    """

  /// Partition, name, instance, the newest that goes.
  private static let deleteAttemptsUpTo: SQL = """
    DELETE FROM attempts WHERE mutation IN (
      SELECT id FROM history
      WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ?)
    """

  /// Partition, name, instance, the newest that goes.
  private static let deleteUpTo: SQL = """
    DELETE FROM history WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ?
    """

  /// Partition, name, instance, how many are counted at most.
  private static let countOfMutation: SQL = """
    SELECT count(*) FROM (
      SELECT 1 FROM history WHERE partition = ? AND name = ? AND instance = ? LIMIT ?)
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
      var count = try self.historyCount(of: name, instance: instance, limit: tolerated + 1)
      if count > tolerated {
        try self.deleteHistory(of: name, instance: instance, butNewest: limits.perMutation)
        count = limits.perMutation
      }
      self.memory.historyCount = OutboxMemory.HistoryCount(
        name: name, instance: instance, count: count)
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

  /// Removes the oldest rows of a mutation's history: most ends remove some, so it is done at once for
  /// all of them.
  private mutating func deleteHistory(
    of name: String, instance: String, butNewest kept: Int
  ) throws {
    let id = self.partition.id
    let newest = try self.connection.first(Self.beyondCount, id, name, instance, kept) {
      try $0.integer(at: 0)
    }
    guard let newest else { return }
    let gone = try self.connection.first(Self.countUpTo, id, name, instance, newest) {
      (count: try $0.integer(at: 0), bytes: try $0.integer(at: 1))
    }
    try self.connection.execute(Self.deleteAttemptsUpTo, id, name, instance, newest)
    try self.connection.execute(Self.deleteUpTo, id, name, instance, newest)
    if let gone { self.didDelete(gone.count, bytes: gone.bytes) }
  }

  private mutating func didDelete(_ count: Int64, bytes: Int64) {
    self.memory.historyCount = nil
    self.partition.historyCount = max(self.partition.historyCount - count, 0)
    self.partition.historyBytes = max(self.partition.historyBytes - bytes, 0)
  }

  /// How many rows the history has of a mutation of which one was just added.
  private func historyCount(of name: String, instance: String, limit: Int) throws -> Int {
    if let last = self.memory.historyCount, last.name == name, last.instance == instance {
      return last.count + 1
    }
    return try self.connection.first(
      Self.countOfMutation, self.partition.id, name, instance, limit
    ) { Int(try $0.integer(at: 0)) } ?? 0
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
      self.didDelete(1, bytes: row.bytes)
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
