import Foundation
import Query

/// The entries that have expired, the oldest first.
struct ExpiredFirst {
  private var stream: EvictionCandidates

  /// Reads the entries after those already examined, at most `looks` of them.
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

  /// Takes the next one.
  mutating func next(_ cursor: inout EvictionCursor) -> EvictionCandidate.Next {
    let next = self.stream.head
    guard case .candidate(let candidate) = next else { return next }
    cursor.expiresAt = candidate.expiresAt ?? .min
    cursor.expiredID = candidate.id
    self.stream.advance()
    return next
  }
}
