import Foundation
import Query

// MARK: - Standing

extension OutboxTables {
  /// Partition, lane, number: earlier rows that block the lane.
  private static let before: SQL = """
    SELECT number, state FROM outbox
    WHERE partition = ? AND lane = ? AND lane IS NOT NULL
      AND (state <> 'dead' OR on_failure = 'halt') AND number < ?
    ORDER BY number
    """

  /// The state or outcome of a mutation.
  ///
  /// - Throws: `StorageError`.
  func standing(of id: UUID) throws -> MutationStanding {
    guard let row = try self.row(id) else {
      return try self.record(id).map { .ended($0) } ?? .unknown
    }
    let entry = row.entry(self.view)
    switch row.standing.state {
    case .leased: return .leased(entry)
    case .dead: return .dead(entry)
    case .pending: return .pending(entry, isNext: try self.isNext(row))
    }
  }

  private func isNext(_ row: OutboxRow) throws -> Bool {
    guard self.view.pausedSince == nil, row.isReady(self.view.now) else { return false }
    guard !row.isHead, let lane = row.lane else { return row.isHead }
    return try self.connection.withStatement(Self.before) { before in
      try before.bindAll(row.partition, lane, row.number)
      // The first one that is not running decides.
      while try before.step() {
        if try before.text(at: 1) != OutboxEntry.State.leased.rawValue { return false }
      }
      return true
    }
  }

  /// The first row that a row waits for in its lane, or depends on.
  ///
  /// - Throws: `StorageError`.
  func predecessor(of row: OutboxRow) throws -> OutboxRow? {
    guard let lane = row.lane else { return nil }
    let number = try self.connection.first(Self.before, row.partition, lane, row.number) {
      try $0.integer(at: 0)
    }
    return try number.flatMap { try self.row($0) }
  }

  func dependency(of row: OutboxRow) throws -> OutboxRow? {
    let number = try self.connection.first(DependencyRow.targets, row.number) {
      try $0.integer(at: 0)
    }
    return try number.flatMap { try self.row($0) }
  }
}
