import FoundationEssentials
import Query

/// Deletes everything of an erased partition.
package final class ErasedMutations {
  let connection: SQLiteConnection

  /// Body files that no row names any more, once the transaction is committed.
  private(set) var bodyFiles = [String]()

  package init(on connection: SQLiteConnection) { self.connection = connection }

  /// Partition, limit.
  private static let rows: SQL = """
    SELECT number, id, body_file, coalesce(length(arguments), 0) FROM outbox WHERE partition = ?
    ORDER BY name, instance, number LIMIT ?
    """

  /// Partition, limit.
  private static let history: SQL = """
    SELECT sequence, id, NULL, min(max(byte_count, 0), 1073741824) FROM history WHERE partition = ?
    ORDER BY name, instance, sequence LIMIT ?
    """

  /// Partition, limit.
  private static let aliases: SQL = """
    DELETE FROM aliases WHERE id IN (SELECT id FROM aliases WHERE partition = ? LIMIT ?)
    """
  private static let deleteEnded: SQL = "DELETE FROM history WHERE sequence = ?"

  private struct Row {
    let number: Int64
    let id: Data
    let bodyFile: String?
    let bytes: Int64

    init(_ row: SQLiteStatement) throws {
      self.number = try row.integer(at: 0)
      self.id = try row.data(at: 1)
      // A value that is not text names none of the outbox's files.
      self.bodyFile = try? row.optionalText(at: 2)
      self.bytes = try row.integer(at: 3)
    }
  }

  /// Deletes rows in a write transaction, as many as fit it.
  ///
  /// - Returns: Whether those were all.
  /// - Throws: `StorageError`.
  package func delete(_ partition: Int64, _ budget: StepBudget) throws -> Bool {
    var (count, bytes) = (0, Int64(0))
    for (sql, isEnded) in [(Self.rows, false), (Self.history, true)] {
      let limit = budget.rows - count
      let rows = try self.connection.rows(sql, partition, limit, read: Row.init)
      for row in rows {
        if budget.isSpent(after: count) || bytes >= Erasure.deletedBytes { return false }
        try self.delete(row, isEnded)
        (count, bytes) = (count + 1, bytes.clampedSum(row.bytes))
      }
      if rows.count >= limit { return false }
    }
    if budget.isSpent(after: count) { return false }
    for sql in [Self.aliases, ForgottenRow.erase, HostRow.erase, PauseRow.erase] {
      let limit = budget.rows - count
      try self.connection.execute(sql, partition, limit)
      let changes = try self.connection.changes
      if changes >= limit { return false }
      count += changes
    }
    return true
  }

  private func delete(_ row: Row, _ isEnded: Bool) throws {
    try self.connection.execute(AttemptRow.delete, row.id)
    if isEnded { return try self.connection.execute(Self.deleteEnded, row.number) }
    // The edges to it are deleted with the rows that depend on it: they may be many.
    try self.connection.execute(DependencyRow.deleteByDependant, row.number)
    try self.connection.execute(LaneHeadRow.delete, row.number)
    try self.connection.execute(OutboxRow.delete, row.number)
    self.bodyFiles += BodyNames.split(row.bodyFile)
  }

  /// The body files that no row names any more, each handed out once.
  func takeBodyFiles() -> [String] {
    defer { self.bodyFiles = [] }
    return self.bodyFiles
  }
}
