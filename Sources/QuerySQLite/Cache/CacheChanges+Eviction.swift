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
    let looks = min(max(budget.rows, 16), 1 << 40) * 2
    var looked = 0
    var next = EvictionCandidate.Next.unknown
    // Few at a time: a short step would spend its time on reading more of them than it removes.
    while next != .end, limits.areExceeded(by: self.totals), looked < looks,
      looked == 0 || !budget.isSpent && eviction.removed.count < budget.rows
    {
      let few = min(looks - looked, Self.readAtOnce)
      looked += few
      var expired = try ExpiredFirst(self.tables, now: now, cursor, looks: few)
      next = try self.evict(&eviction, budget, limits, isKept) { expired.next(&cursor) }
      guard next == .end else { continue }
      var oldest = try self.oldest(from: cursor, looks: few)
      next = try self.evict(&eviction, budget, limits, isKept) { oldest.next(&cursor) }
    }
    eviction.hasMore = next != .end && limits.areExceeded(by: self.totals)
    return eviction
  }

  /// How many candidates are read at once.
  private static let readAtOnce = 128

  /// Removes candidates until the limits hold, the step is spent, or no more are known.
  ///
  /// - Returns: end if there are no more.
  private mutating func evict(
    _ eviction: inout Eviction, _ budget: StepBudget, _ limits: CacheLimits,
    _ isKept: (QueryIdentity) -> Bool, _ nextCandidate: () -> EvictionCandidate.Next
  ) throws -> EvictionCandidate.Next {
    while limits.areExceeded(by: self.totals), !budget.isSpent(after: eviction.removed.count) {
      let next = nextCandidate()
      guard case .candidate(let candidate) = next else { return next }
      try self.evict(candidate, &eviction, isKept)
    }
    return .unknown
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
    // No pack has one that is evicted.
    try self.removeRow(candidate.id, bytes: candidate.bytes, isLost: false)
    eviction.removed.append(candidate.identity)
  }
}
