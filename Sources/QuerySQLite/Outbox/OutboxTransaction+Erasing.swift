import Foundation
import Query

// MARK: - Erasing

extension OutboxTransaction {
  private static let deleteAttempts: SQL = """
    DELETE FROM attempts WHERE mutation IN (
      SELECT id FROM outbox WHERE partition = ?1 UNION SELECT id FROM history WHERE partition = ?1)
    """
  private static let bodyFiles: SQL = """
    SELECT body_file FROM outbox WHERE body_file IS NOT NULL AND partition = ?
    """
  private static let leased: SQL = """
    SELECT number FROM outbox WHERE state = 'leased' AND partition = ?
    """
  private static let deleteDependencies: SQL = """
    DELETE FROM dependencies WHERE dependant IN (SELECT number FROM outbox WHERE partition = ?)
    """
  private static let deleteHeads: SQL = "DELETE FROM lane_heads WHERE partition = ?"
  private static let deleteRows: SQL = "DELETE FROM outbox WHERE partition = ?"
  private static let deleteHistory: SQL = "DELETE FROM history WHERE partition = ?"
  private static let deleteAliases: SQL = "DELETE FROM aliases WHERE partition = ?"

  /// Removes all rows of the partition, and raises its epoch. Their bytes are in the file until it is
  /// vacuumed.
  ///
  /// - Throws: `StorageError`.
  mutating func erase() throws {
    let id = self.partition.id
    let files = try self.connection.rows(Self.bodyFiles, id) { try $0.text(at: 0) }
    self.outcome.bodyFiles += files
    let leased = try self.connection.rows(Self.leased, id) { try $0.integer(at: 0) }
    self.outcome.revocations += leased.map { ($0, .lost) }
    self.outcome.endedLeases.formUnion(leased)
    try self.connection.execute(Self.deleteAttempts, id)
    try self.connection.execute(Self.deleteDependencies, id)
    try self.connection.execute(Self.deleteHeads, id)
    try self.connection.execute(Self.deleteRows, id)
    try self.connection.execute(Self.deleteHistory, id)
    try self.connection.execute(Self.deleteAliases, id)
    self.partition.epoch &+= 1
    self.partition.isNamed = false
    self.partition.isErasing = true
    self.partition.pausedAt = nil
    self.partition.counts = OutboxCounts()
    (self.partition.historyCount, self.partition.historyBytes) = (0, 0)
    self.outcome.hasErased = true
    self.tell(.erased)
  }
}
