package import Foundation
package import Query
import QuerySQLite

/// A mutation that has ended.
package struct InspectedHistory: Hashable, Sendable {
  /// Its position in the order of ending.
  package let sequence: Int64
  /// The account.
  package let partition: String
  /// The mutation's identifier.
  package let id: UUID
  /// Its number in the outbox.
  package let number: Int64
  /// The name that it was persisted as.
  package let name: String
  /// The instance of the request itself.
  package let instance: String
  /// The version of its arguments.
  package let version: Int
  /// The lane; nil: its own.
  package let lane: String?
  /// `succeeded`, `cancelled`, `superseded`, `discarded`, or a word of a later release.
  package let outcome: String
  /// The mutation that replaced it.
  package let successor: UUID?
  /// How many attempts it had.
  package let attempts: Int
  /// Whether an earlier attempt may have been carried out.
  package let maybeApplied: Bool
  /// When it was enqueued, microseconds since 1970.
  package let createdAt: Int64
  /// When the last attempt began; nil: there was none.
  package let startedAt: Int64?
  /// When it ended.
  package let endedAt: Int64
  /// The error of the last attempt.
  package let error: RestoredError?
  /// Bytes of arguments, result and error.
  package let byteCount: Int

  /// From the beginning of the last attempt to the end, in microseconds; nil: there was no attempt.
  package var duration: Int64? { self.startedAt.map { self.endedAt.clampedDifference($0) } }
}

// MARK: - SQL

extension InspectedHistory {
  /// Partition, sequence, name or NULL, limit: mutations that ended before that, the newest first.
  static let list: SQL = """
    SELECT sequence, id, number, name, instance, version, lane, outcome, successor, attempts,
      maybe_applied, created_at, started_at, ended_at, error_type, error_text, byte_count
    FROM history
    WHERE partition = ?1 AND sequence < ?2 AND (?3 IS NULL OR name = ?3)
    ORDER BY sequence DESC LIMIT ?4
    """

  init(_ row: SQLiteStatement, partition: String) throws {
    self.sequence = try row.integer(at: 0)
    self.partition = partition
    self.id = try row.uuid(at: 1)
    self.number = try row.integer(at: 2)
    self.name = try row.text(at: 3)
    self.instance = try row.text(at: 4)
    self.version = Int(try row.integer(at: 5))
    self.lane = try row.optionalText(at: 6)
    self.outcome = try row.text(at: 7)
    self.successor = row.isNull(at: 8) ? nil : try row.uuid(at: 8)
    self.attempts = Int(try row.integer(at: 9))
    self.maybeApplied = try row.bool(at: 10)
    self.createdAt = try row.integer(at: 11)
    self.startedAt = try row.optionalInteger(at: 12)
    self.endedAt = try row.integer(at: 13)
    self.error = try row.optionalError(at: 14)
    self.byteCount = Int(try row.integer(at: 16))
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
