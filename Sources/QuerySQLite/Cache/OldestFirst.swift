import Query

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
