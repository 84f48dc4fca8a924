package import Foundation
package import Query

// MARK: - Reasons

extension OutboxTables {
  /// What keeps a mutation from running: the first reason, as in `waitReason`.
  ///
  /// - Throws: `OutboxError`; `StorageError`.
  package func clause(of id: UUID) throws -> OutboxClause {
    guard let row = try self.row(id) else {
      guard case .ended(let outcome)? = try self.record(id)?.state else {
        throw OutboxError.unknown(id)
      }
      return .ended(outcome)
    }
    switch row.standing.state {
    case .leased:
      let start = try self.connection.first(
        AttemptRow.readStart, row.id, row.standing.attempts
      ) { Date(microsecondsSince1970: try $0.integer(at: 0)) }
      return .leased(by: try self.owner(of: row), since: start)
    case .dead: return .dead(row.standing.deadReason ?? .rejected, row.standing.lastError)
    case .pending: return try self.clause(ofPending: row)
    }
  }

  /// Owner: the number of its process.
  private static let process: SQL = "SELECT process FROM owners WHERE owner = ?"

  private func owner(of row: OutboxRow) throws -> String {
    guard let owner = row.standing.lease?.owner else { return "a process" }
    let process = try self.connection.first(Self.process, owner) { try $0.integer(at: 0) }
    return process.map { "process \($0), owner \(owner)" } ?? "the process of owner \(owner)"
  }

  private func clause(ofPending row: OutboxRow) throws -> OutboxClause {
    let entry = row.entry(self.view)
    switch entry.waitReason {
    case nil: return .due
    case .paused:
      return .paused(since: Date(microsecondsSince1970: self.partition?.pausedAt ?? 0))
    case .predecessor:
      return try self.predecessor(of: row).map { .predecessor($0.entry(self.view)) } ?? .due
    case .dependency:
      if let target = try self.dependency(of: row) {
        return .dependency(target.entry(self.view))
      }
      return .alias(row.standing.awaitedAlias ?? "")
    case .authentication: return .credentials
    case .handler: return .handler(name: row.name, version: row.version)
    case .offline, .backoff, .retryAfter:
      let remaining = row.remaining(self.view.now) ?? 0
      if remaining == 0 { return .network }
      return .time(row.standing.waitReason ?? .backoff, remaining: .microseconds(remaining))
    }
  }
}
