package import FoundationEssentials
package import Query
import QuerySQLite

/// A mutation that has ended.
package struct InspectedHistory: Hashable, Sendable {
  /// Its position in the order of ending.
  package let sequence: Int64
  /// The account.
  package let partition: String
  /// The mutation, without its bytes and what the history does not keep.
  package let entry: OutboxEntry
  /// `succeeded`, `cancelled`, `superseded`, `discarded`, or a word of a later release.
  package let outcome: String
  /// The mutation that replaced it.
  package let successor: UUID?
  /// When it was enqueued, microseconds since 1970.
  package let createdAt: Int64
  /// When the last attempt began; nil: there was none.
  package let startedAt: Int64?
  /// When it ended.
  package let endedAt: Int64
  /// Bytes of arguments, result and error.
  package let byteCount: Int

  /// From the beginning of the last attempt to the end, in microseconds; nil: there was no attempt.
  package var duration: Int64? { self.startedAt.map { self.endedAt.clampedDifference($0) } }
}

// MARK: - SQL

extension InspectedHistory {
  /// Partition or NULL, sequence, name or NULL, limit: mutations that ended before that, the newest first.
  /// All accounts share one sequence.
  static let list = SQL(
    assembling: """
      SELECT \(HistoryRow.listedColumns.list), byte_count, sequence, partition FROM history
      WHERE (?1 IS NULL OR partition = ?1) AND sequence < ?2 AND (?3 IS NULL OR name = ?3)
        AND partition IN (SELECT id FROM partitions WHERE substr(name, 1, 7) <> 'erased:')
      ORDER BY sequence DESC LIMIT ?4
      """)

  /// - Parameter names: The names of the accounts, by number.
  init(_ row: SQLiteStatement, _ names: [Int64: String]) throws {
    let ended = try HistoryRow(listed: row)
    let next = Int32(HistoryRow.listedColumns.names.count)
    self.sequence = try row.integer(at: next + 1)
    self.partition = names[try row.integer(at: next + 2)] ?? "?"
    self.entry = ended.entry
    self.outcome = ended.outcomeWord
    self.successor = ended.successor
    self.createdAt = ended.createdAt
    self.startedAt = ended.startedAt
    self.endedAt = ended.endedAt
    self.byteCount = Int(try row.integer(at: next))
  }
}

extension StoreInspection {
  private static let historyPerRead = 1_000

  /// Passes on ended mutations, the newest of all accounts first.
  ///
  /// - Parameters:
  ///   - name: The name that they were persisted as; nil: any.
  ///   - partition: The account; nil: all.
  ///   - limit: The maximum number; nil: all.
  ///   - body: Called with each.
  /// - Throws: `InspectionError`, and what the closure throws.
  package func history(
    of name: String? = nil, in partition: String? = nil, limit: Int? = nil,
    _ body: (InspectedHistory) throws -> Void
  ) throws {
    try self.require(partition: partition)
    var left = limit ?? .max
    var next: Int64? = .max
    while let sequence = next, left > 0 {
      let count = min(Self.historyPerRead, left)
      let chunk = try self.readIfThere(.mutations) { connection in
        try Self.history(of: name, in: partition, before: sequence, count, on: connection)
      }
      for row in chunk ?? [] { try body(row) }
      left -= chunk?.count ?? 0
      next = (chunk?.count ?? 0) < count ? nil : chunk?.last?.sequence
    }
  }

  private static func history(
    of name: String?, in partition: String?, before sequence: Int64, _ limit: Int,
    on connection: SQLiteConnection
  ) throws -> [InspectedHistory] {
    let accounts = try Self.partitions(partition, on: connection)
    if accounts.isEmpty { return [] }
    let names = Dictionary(accounts.map { ($0.id, $0.name) }) { first, _ in first }
    return try connection.rows(
      InspectedHistory.list, partition == nil ? nil : accounts.first?.id, sequence, name, limit
    ) { try InspectedHistory($0, names) }
  }
}
