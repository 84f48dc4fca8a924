import Foundation
import Query

/// An entry as a candidate for eviction.
struct EvictionCandidate: Equatable {
  let id: Int64
  let hash: XXH128
  let bytes: Int
  let isPinned: Bool
  let revision: Int64
  /// 0 if it was never used.
  let use: Int64
  let expiresAt: Int64?

  /// Reads a row.
  init(_ row: SQLiteStatement) throws {
    self.id = try row.integer(at: 0)
    self.hash = try row.hash(at: 1)
    self.bytes = Int(try row.amount(at: 2))
    self.isPinned = try row.bool(at: 3)
    self.revision = try row.integer(at: 4)
    self.use = try row.optionalInteger(at: 5) ?? 0
    self.expiresAt = try row.optionalInteger(at: 6)
  }

  /// The next candidate of an order.
  enum Next: Equatable {
    case candidate(EvictionCandidate)
    /// This transaction has read as many rows as it may: the next one continues.
    case unknown
    /// There are no more.
    case end
  }
}

/// Candidates in the order of an index, some of them or all.
struct EvictionCandidates {
  private let rows: [EvictionCandidate]
  private let isWhole: Bool
  private var index = 0

  /// Takes the rows of a statement with this `LIMIT`.
  init(_ rows: [EvictionCandidate], limit: Int) {
    self.rows = rows
    self.isWhole = rows.count < limit
  }

  /// The first one that was not examined yet.
  var head: EvictionCandidate.Next {
    if self.index < self.rows.count { return .candidate(self.rows[self.index]) }
    return self.isWhole ? .end : .unknown
  }

  /// Moves on to the next one.
  mutating func advance() { self.index += 1 }
}
