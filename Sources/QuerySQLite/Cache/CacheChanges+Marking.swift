import FoundationEssentials
import Query

// MARK: - Uses

extension CacheChanges {
  /// Records that entries were used, as many as fit into a transaction. Skipped are entries that are
  /// not stored, and those whose last use or writing is not behind by a tenth of what the partition
  /// has: such a use would hardly change the order of eviction, and costs two frames.
  ///
  /// - Parameter identities: Their identities, the latest use last.
  /// - Returns: How many were recorded or skipped, counted from the first.
  /// - Throws: `StorageError`.
  @discardableResult
  mutating func recordUses(
    _ identities: some Collection<QueryIdentity>, _ budget: StepBudget
  ) throws -> Int {
    var count = 0
    for identity in identities {
      if budget.isSpent(after: count) { break }
      count += 1
      let number = self.totals.revision
      try self.connection.execute(
        EntryRow.updateUse, number + 1, self.partition, identity.text,
        number - Int64(self.totals.entries / 10))
      if try self.connection.changes > 0 { _ = self.nextHiddenNumber() }
    }
    return count
  }
}

// MARK: - Invalidation

extension CacheChanges {
  /// Invalidates the entries whose path begins with a prefix, each with a new revision. Entries
  /// that were invalidated at this time or later are not written again.
  ///
  /// - Parameters:
  ///   - cursor: The prefix of the paths, or where the previous call ended.
  ///   - time: When that was asked for, in microseconds since the start of the machine.
  ///   - budget: How many are marked at most, and how long that may take, including the search.
  /// - Returns: How many were marked, and where the next call continues; nil if there are no more.
  /// - Throws: `StorageError`.
  /// - Complexity: O(*m* log *n*) in the number of entries under the prefix and in the file.
  mutating func invalidate(
    from cursor: IdentityCursor, at time: Int64, _ budget: StepBudget
  ) throws -> (marked: Int, next: IdentityCursor?) {
    let found = try self.findValid(from: cursor, before: time, budget)
    for (index, place) in found.places.enumerated() {
      if budget.isSpent(after: index) { return (index, found.places[index - 1].next) }
      try self.invalidate(rowWithID: place.id, at: time)
    }
    return (found.places.count, found.next)
  }

  /// Invalidates one entry, with a new revision.
  ///
  /// - Parameters:
  ///   - id: The number of its row.
  ///   - time: When it was invalidated, in microseconds since the start of the machine.
  /// - Throws: `StorageError`.
  mutating func invalidate(rowWithID id: Int64, at time: Int64) throws {
    try self.foldConfirmation(ofRowWithID: id)
    try self.connection.execute(
      EntryRow.invalidate, time, self.nextRevision(), self.totals.entries, self.totals.bytes, id)
  }

  /// The entries to invalidate, as many as are found in half of the time, each with the place after
  /// it.
  private func findValid(
    from cursor: IdentityCursor, before time: Int64, _ budget: StepBudget
  ) throws -> (places: [(id: Int64, next: IdentityCursor)], next: IdentityCursor?) {
    var (cursor, places, count) = (cursor, [(id: Int64, next: IdentityCursor)](), 0)
    repeat {
      let isWhole = try self.connection.withStatement(EntryRow.readValidity) { row in
        try row.bindAll(time, self.partition, cursor.lower, cursor.upper)
        while try row.step() {
          // Only now: if nothing followed, another transaction would mark nothing.
          if places.count >= budget.rows { return false }
          count += 1
          cursor.pass(try row.text(at: 1))
          if try row.bool(at: 2) { places.append((try row.integer(at: 0), cursor)) }
          // The clock is read only now and then.
          if count.isMultiple(of: 64), budget.isHalfSpent { return false }
        }
        return true
      }
      if !isWhole { return (places, cursor) }
    } while cursor.passRange()
    return (places, nil)
  }
}
