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
  /// Partition, sequence, name or NULL, limit: mutations that ended before that, the newest first.
  static let list = SQL(
    assembling: """
      SELECT \(HistoryRow.listedColumns.list), byte_count, sequence FROM history
      WHERE partition = ?1 AND sequence < ?2 AND (?3 IS NULL OR name = ?3)
      ORDER BY sequence DESC LIMIT ?4
      """)

  init(_ row: SQLiteStatement, partition: String) throws {
    let ended = try HistoryRow(listed: row)
    let next = Int32(HistoryRow.listedColumns.names.count)
    self.sequence = try row.integer(at: next + 1)
    self.partition = partition
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

  /// Passes on ended mutations, the newest first, one account after the other.
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
    let names = try self.readIfThere(.mutations) { try Self.partitions(partition, on: $0) } ?? []
    var left = limit ?? .max
    for (id, partition) in names {
      var next: Int64? = .max
      while let sequence = next, left > 0 {
        let count = min(Self.historyPerRead, left)
        let chunk = try self.mutationsFile.read { connection in
          try connection.rows(InspectedHistory.list, id, sequence, name, count) {
            try InspectedHistory($0, partition: partition)
          }
        }
        for row in chunk { try body(row) }
        left -= chunk.count
        next = chunk.count < count ? nil : chunk.last?.sequence
      }
    }
  }
}
