import Foundation
import Query

// MARK: - Erasing

extension OutboxTransaction {
  private static let leased: SQL = """
    SELECT number FROM outbox WHERE state = 'leased' AND partition = ?
    """

  /// Id: no total counts its rows any more.
  private static let clear: SQL = """
    UPDATE partitions SET paused_at = NULL, pending_count = 0, leased_count = 0, dead_count = 0,
      history_count = 0, history_bytes = 0
    WHERE id = ?
    """

  /// Takes everything from the account: from the commit on no reader finds any of it. The rows stay
  /// in the file until ``Erasure/finish(patience:willOverwrite:)``.
  ///
  /// - Throws: `StorageError`.
  mutating func erase() throws {
    let old = self.partition.id
    let leased = try self.connection.rows(Self.leased, old) { try $0.integer(at: 0) }
    self.outcome.revocations += leased.map { ($0, .lost) }
    self.outcome.endedLeases.formUnion(leased)
    var partition = self.partition
    partition.epoch &+= 1
    partition.id = try Erasure.begin(
      old, named: self.name, epoch: partition.epoch, revision: partition.revision,
      on: self.connection)
    try self.connection.execute(Self.clear, old)
    partition.isNamed = false
    partition.isErasing = true
    partition.pausedAt = nil
    partition.counts = OutboxCounts()
    (partition.historyCount, partition.historyBytes) = (0, 0)
    self.memory = OutboxMemory(partition: partition)
    self.outcome.hasErased = true
    self.tell(.erased)
  }
}
