import Foundation
import Query

// MARK: - Batches of a lane

extension OutboxTransaction {
  /// Partition, lane, number, limit: the rows behind one in its lane.
  static let behind: SQL = """
    SELECT number FROM outbox
    WHERE partition = ? AND lane = ? AND lane IS NOT NULL
      AND (dead_reason IS NULL OR on_failure = 'halt') AND number > ?
    ORDER BY number LIMIT ?
    """

  /// Leases the rows right behind the leased head of a lane that go with it in one call.
  ///
  /// - Throws: `StorageError`.
  mutating func leaseFollowers(
    of head: OutboxRow, _ request: ClaimRequest, _ answer: inout ClaimAnswer
  ) throws {
    let first = head.entry(self.view)
    let limit = request.followers(of: first)
    guard limit > 0, let lane = head.lane, head.standing.mayGoWithOthers,
      self.standing(ofHost: head.effectiveHost)?.room(at: self.now) ?? .any == .any
    else { return }
    let numbers = try self.connection.rows(
      Self.behind, self.partition.id, lane, head.number, limit
    ) { try $0.integer(at: 0) }
    for number in numbers {
      guard var row = try self.row(number), self.mayFollow(row, first, request),
        // One that is damaged or too old is for the claim that finds it at the head.
        row.isSound, !self.isTooOld(row), let lease = try self.lease(&row, isReplay: true)
      else { return }
      answer.leases.append(lease)
    }
  }

  private func mayFollow(
    _ row: OutboxRow, _ head: OutboxEntry, _ request: ClaimRequest
  ) -> Bool {
    let entry = row.entry(self.view)
    guard case .lowest(let handlers) = request.target, entry.goes(with: head),
      handlers.contains(where: { $0.canRun(entry) })
    else { return false }
    return row.partition == self.partition.id && row.standing.mayGoWithOthers
      && self.pauses.first(holding: row.enqueued) == nil && row.isReady(self.now)
  }
}
