import FoundationEssentials
import Query

/// A mutation that has ended, and that the history has forgotten.
enum ForgottenRow {
  /// The columns, from the history.
  private static let insert: SQL.Words = """
    INSERT INTO forgotten (id, partition, sequence, outcome, successor, ended_at)
    SELECT id, partition, sequence, outcome, successor, ended_at FROM history
    """

  /// Partition, name, instance, the newest one to remove.
  static let insertUpTo = SQL(
    assembling: """
      \(insert) WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ?
      ON CONFLICT DO NOTHING
      """)

  /// Partition, the first and the last to remove.
  static let insertBetween = SQL(
    assembling: """
      \(insert) NOT INDEXED WHERE partition = ? AND sequence BETWEEN ? AND ? ON CONFLICT DO NOTHING
      """)

  /// Sequence.
  static let insertOne = SQL(
    assembling: "\(insert) WHERE sequence = ? ON CONFLICT DO NOTHING")

  /// Partition, id.
  static let read: SQL = "SELECT outcome, successor FROM forgotten WHERE partition = ? AND id = ?"

  /// Partition, sequence, limit: those up to it, the oldest first.
  static let prune: SQL = """
    DELETE FROM forgotten WHERE id IN (
      SELECT id FROM forgotten WHERE partition = ? AND sequence <= ? ORDER BY sequence LIMIT ?)
    """

  /// Partition, date, limit: those of the first ones that ended before the date.
  static let pruneOld: SQL = """
    DELETE FROM forgotten WHERE id IN (
      SELECT id FROM (
        SELECT id, ended_at FROM forgotten WHERE partition = ?1 ORDER BY sequence LIMIT ?3)
      WHERE ended_at < ?2)
    """

  /// Partition, limit.
  static let erase: SQL = """
    DELETE FROM forgotten WHERE id IN (SELECT id FROM forgotten WHERE partition = ? LIMIT ?)
    """

  /// Id, partition, sequence, outcome, successor, date.
  static let salvage: SQL = """
    INSERT INTO forgotten (id, partition, sequence, outcome, successor, ended_at)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """
}

extension OutboxTransaction {
  /// Remembers rows of the history that are about to be removed from it.
  ///
  /// - Parameters:
  ///   - sql: One of ``ForgottenRow``'s.
  ///   - values: Which rows.
  /// - Throws: `StorageError`.
  func remember<each Value: SQLiteBindable>(
    _ sql: SQL, _ values: repeat each Value
  ) throws {
    try self.connection.execute(sql, repeat each values)
    let oldest = self.partition.lastSequence - Int64(MutationHistoryLimits.forgotten)
    if oldest <= 0 { return }
    // As many as may have come, and some more, so that the others go too.
    try self.connection.execute(
      ForgottenRow.prune, self.partition.id, oldest, 2 * Self.prunedAtOnce)
  }

  /// Removes what was forgotten so long ago that it need not be remembered.
  ///
  /// - Returns: Whether those were all.
  /// - Throws: `StorageError`.
  func pruneForgotten(atMost count: Int) throws -> Bool {
    let days = Int64(self.terms.limits.forgottenDays)
    let date = self.nowAt.clampedDifference(days * 86_400_000_000)
    try self.connection.execute(ForgottenRow.pruneOld, self.partition.id, date, count)
    return try self.connection.changes < count
  }

  /// How a mutation that the history has forgotten has ended.
  func forgotten(
    _ id: UUID
  ) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    try ForgottenRow.end(of: id, partition: self.partition.id, on: self.connection)
  }
}

extension OutboxTables {
  /// How a mutation that the history has forgotten has ended.
  func forgottenEnd(
    of id: UUID
  ) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    guard let partition else { return nil }
    return try ForgottenRow.end(of: id, partition: partition.id, on: self.connection)
  }
}

extension ForgottenRow {
  fileprivate static func end(
    of id: UUID, partition: Int64, on connection: SQLiteConnection
  ) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    try connection.first(Self.read, partition, id) { row in
      (
        // Of a word of a later release all that is known is that it has ended.
        RecordedMutation.Outcome(rawValue: try row.text(at: 0)) ?? .discarded,
        row.isNull(at: 1) ? nil : try row.uuid(at: 1)
      )
    }
  }
}
