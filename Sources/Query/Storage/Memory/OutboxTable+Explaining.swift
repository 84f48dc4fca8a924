import Foundation

// MARK: - Explaining

extension OutboxTable {
  /// What keeps a mutation from running: the first of the clauses that decide `waitReason`.
  ///
  /// - Throws: ``OutboxError/unknown(_:)``.
  func clause(of id: UUID, at time: OutboxTime) throws(OutboxError) -> OutboxClause {
    guard let index = self.index(of: id) else {
      guard let past = self.ended(id) else { throw .unknown(id) }
      return .ended(past.outcome)
    }
    let row = self.rows[index]
    switch row.entry.state {
    case .pending: return self.clause(ofPending: row, at: time)
    case .leased: return .leased(by: "this process", since: self.attempts[id]?.last?.startedAt)
    case .dead: return .dead(row.entry.deadReason ?? .rejected, row.entry.lastError)
    }
  }

  private func clause(ofPending row: OutboxRow, at time: OutboxTime) -> OutboxClause {
    if let date = self.pausedSince { return .paused(since: date) }
    if let lane = row.entry.lane, let head = self.head(ofLane: lane), !self.isHead(row) {
      return .predecessor(self.entry(of: head, isHead: true, at: time))
    }
    if let id = row.dependencies.first, let target = self.entry(id, at: time) {
      return .dependency(target)
    }
    if case .alias(let alias) = row.wait { return .alias(alias) }
    if row.wait == .credentials { return .credentials }
    if case .time(let reason, _) = row.wait {
      if let remaining = row.wait.remaining(at: time) {
        return .time(reason, remaining: remaining)
      }
      if reason == .offline { return .network }
    }
    if self.lacksHandler(row) {
      return .handler(name: row.entry.name, version: row.entry.version)
    }
    return .due
  }
}
