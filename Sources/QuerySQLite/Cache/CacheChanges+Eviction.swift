package import FoundationEssentials
package import Query

extension CacheChanges {
  /// Removes entries until both limits hold, as many as fit into a small transaction: expired ones
  /// first, then the least recently written or used. Pinned entries stay.
  ///
  /// - Parameters:
  ///   - budget: How many are removed at most; twice as many are examined.
  ///   - limits: The limits to reach.
  ///   - now: The time.
  ///   - cursor: Where the previous transaction ended; a new one for the first.
  ///   - isKept: Whether the entry with this identity stays, since its store is alive. Called inside
  ///     the transaction.
  /// - Throws: `StorageError`.
  package mutating func evict(
    _ budget: StepBudget,
    limits: CacheLimits,
    now: Date,
    from cursor: inout EvictionCursor,
    keeping isKept: (QueryIdentity) -> Bool
  ) throws -> Eviction {
    var eviction = Eviction()
    let looks = max(budget.rows, 16) * 2
    var expired = try ExpiredFirst(self.tables, now: now, cursor, looks: looks)
    var next = EvictionCandidate.Next.unknown
    while limits.areExceeded(by: self.totals), !budget.isSpent(after: eviction.removed.count) {
      next = expired.next(&cursor)
      guard case .candidate(let candidate) = next else { break }
      try self.evict(candidate, &eviction, isKept)
    }
    if next == .end {
      var oldest = try self.oldest(from: cursor, looks: looks)
      while limits.areExceeded(by: self.totals), !budget.isSpent(after: eviction.removed.count) {
        next = oldest.next(&cursor)
        guard case .candidate(let candidate) = next else { break }
        try self.evict(candidate, &eviction, isKept)
      }
    }
    eviction.hasMore = next != .end && limits.areExceeded(by: self.totals)
    return eviction
  }

  /// The entries that were written, used or confirmed longest ago, some of them.
  private func oldest(from cursor: EvictionCursor, looks: Int) throws -> OldestFirst {
    while true {
      let oldest = try OldestFirst(self.tables, cursor, looks: looks)
      var hasMoved = false
      for id in oldest.ids where try self.countConfirmationAsUse(ofRowWithID: id) {
        hasMoved = true
      }
      // Those that have moved are looked for in their new places; none moves twice.
      if !hasMoved { return oldest }
    }
  }

  private mutating func evict(
    _ candidate: EvictionCandidate,
    _ eviction: inout Eviction,
    _ isKept: (QueryIdentity) -> Bool
  ) throws {
    if candidate.isPinned || isKept(candidate.identity) { return }
    try self.removeRow(candidate.id, bytes: candidate.bytes)
    eviction.removed.append(candidate.identity)
  }
}
