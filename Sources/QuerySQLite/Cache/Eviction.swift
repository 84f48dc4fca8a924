import FoundationEssentials
import Query

/// The limits of a partition.
package struct CacheLimits: Equatable {
  /// The maximum number of entries.
  var entries: Int
  /// The maximum number of bytes.
  var bytes: Int

  package init(entries: Int, bytes: Int) {
    self.entries = entries
    self.bytes = bytes
  }

  /// Whether a partition exceeds one of them.
  func areExceeded(by totals: CacheChanges.Totals) -> Bool {
    totals.entries > self.entries || totals.bytes > self.bytes
  }
}

/// The progress of an eviction, so that its transactions do not each examine again the entries that
/// stay, being pinned or alive. A new one begins with the least recently used.
package struct EvictionCursor: Equatable {
  /// The last expired entry that was examined.
  var expiresAt = Int64.min
  var expiredID: Int64 = 0
  /// The last entries examined in the order of writing, and in that of use.
  var revision: Int64 = 0
  var use: Int64 = 0

  package init() {}
}

/// The result of one transaction of an eviction.
package struct Eviction: Equatable {
  /// The identities of the entries that were removed.
  var removed = [QueryIdentity]()
  /// Whether another transaction, with the same cursor, can do more. If not, the limits hold, or
  /// all remaining entries stay.
  package var hasMore = false
}

/// An entry as a candidate for eviction.
struct EvictionCandidate: Equatable {
  let id: Int64
  let identity: QueryIdentity
  let bytes: Int
  let isPinned: Bool
  let revision: Int64
  /// 0 if it was never used.
  let use: Int64
  let expiresAt: Int64?

  /// Reads a row.
  init(_ row: SQLiteStatement) throws {
    self.id = try row.integer(at: 0)
    self.identity = QueryIdentity(canonicalText: try row.text(at: 1))
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

  var ids: [Int64] { self.rows.map(\.id) }

  /// The first one that was not examined yet.
  var head: EvictionCandidate.Next {
    if self.index < self.rows.count { return .candidate(self.rows[self.index]) }
    return self.isWhole ? .end : .unknown
  }

  /// Moves on to the next one.
  mutating func advance() { self.index += 1 }
}

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

/// All entries, the least recently written or used first: by the greater of revision and last use.
/// There is an index of each; for an entry in both, one of them has the smaller number, and is
/// skipped.
struct OldestFirst {
  private var written: EvictionCandidates
  private var used: EvictionCandidates

  /// Reads the entries after those already examined, at most `looks` of them.
  ///
  /// - Throws: `StorageError`.
  init(_ tables: CacheTables, _ cursor: EvictionCursor, looks: Int) throws {
    let written = try tables.connection.rows(
      EntryRow.readWritten, tables.partition, cursor.revision, looks
    ) { try EvictionCandidate($0) }
    let used = try tables.connection.rows(EntryRow.readUsed, tables.partition, cursor.use, looks) {
      try EvictionCandidate($0)
    }
    self.written = EvictionCandidates(written, limit: looks)
    self.used = EvictionCandidates(used, limit: looks)
  }

  /// The numbers of the rows that were read.
  var ids: [Int64] { self.written.ids + self.used.ids }

  /// Takes the next one.
  mutating func next(_ cursor: inout EvictionCursor) -> EvictionCandidate.Next {
    while case .candidate(let passed) = self.written.head, passed.use > passed.revision {
      cursor.revision = passed.revision
      self.written.advance()
    }
    while case .candidate(let passed) = self.used.head, passed.use < passed.revision {
      cursor.use = passed.use
      self.used.advance()
    }
    switch (self.written.head, self.used.head) {
    // The next entry of the one may come before the head of the other.
    case (.unknown, _), (_, .unknown): return .unknown
    case (.candidate(let first), .candidate(let second)) where first.revision > second.use:
      return self.takeUsed(second, &cursor)
    case (.candidate(let first), _):
      cursor.revision = first.revision
      self.written.advance()
      return .candidate(first)
    case (.end, .candidate(let second)): return self.takeUsed(second, &cursor)
    case (.end, .end): return .end
    }
  }

  private mutating func takeUsed(
    _ candidate: EvictionCandidate,
    _ cursor: inout EvictionCursor
  ) -> EvictionCandidate.Next {
    cursor.use = candidate.use
    self.used.advance()
    return .candidate(candidate)
  }
}
