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
    return try row.entry(self.view).clause(
      row.standing, in: self.view, owner: self.owner(of: row),
      predecessor: self.predecessor(of: row)?.entry(self.view),
      dependency: self.dependency(of: row)?.entry(self.view))
  }

  /// Owner: the number of its process.
  private static let process: SQL = "SELECT process FROM owners WHERE owner = ?"

  private func owner(of row: OutboxRow) throws -> String {
    guard let owner = row.standing.lease?.owner else { return "a process" }
    let process = try self.connection.first(Self.process, owner) { try $0.integer(at: 0) }
    return process.map { "process \($0), owner \(owner)" } ?? "the process of owner \(owner)"
  }
}
