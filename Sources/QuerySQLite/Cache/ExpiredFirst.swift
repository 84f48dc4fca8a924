import Foundation
import Query

/// The entries that have expired, the oldest first.
struct ExpiredFirst {
  private var stream: EvictionCandidates

  /// Reads the entries after those that had their turn, so many at most.
  ///
  /// - Throws: `StorageError`.
  init(_ tables: CacheTables, now: Date, _ cursor: EvictionCursor, looks: Int) throws {
    let rows = try tables.connection.rows(
      EntryRow.readExpired, tables.partition, now.microsecondsSince1970, cursor.expiresAt,
      cursor.expiredID,
      looks
    ) { try EvictionCandidate($0) }
    self.stream = EvictionCandidates(rows, limit: looks)
  }

  /// Gives the next one its turn.
  mutating func next(_ cursor: inout EvictionCursor) -> EvictionCandidate.Next {
    let next = self.stream.head
    guard case .candidate(let candidate) = next else { return next }
    cursor.expiresAt = candidate.expiresAt ?? .min
    cursor.expiredID = candidate.id
    self.stream.advance()
    return next
  }
}
