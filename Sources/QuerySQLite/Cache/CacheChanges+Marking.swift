import Foundation
import Query

// MARK: - Uses

extension CacheChanges {
  /// Records that entries were used, as many as fit into a transaction. Entries that are not stored
  /// are skipped.
  ///
  /// - Parameter hashes: The hashes of their identities, the latest use last.
  /// - Returns: How many were recorded or skipped, counted from the first.
  /// - Throws: `StorageError`.
  @discardableResult
  mutating func recordUses(
    _ hashes: some Collection<XXH128>, _ budget: StepBudget
  ) throws -> Int {
    var count = 0
    for hash in hashes {
      if budget.isSpent(after: count) { break }
      count += 1
      let number = self.totals.revision + 1
      try self.connection.execute(EntryRow.updateUse, number, self.partition, hash)
      if try self.connection.changes > 0 { _ = self.nextHiddenNumber() }
    }
    return count
  }
}

// MARK: - Invalidation

extension CacheChanges {
  /// Invalidates the entries whose path begins with a prefix, each with a new revision. Entries
  /// that are already invalidated are not written again.
  ///
  /// - Parameters:
  ///   - prefix: The prefix of the paths.
  ///   - cursor: Where the previous call ended.
  ///   - budget: How many are marked at most, and how long that may take, including the search.
  /// - Returns: How many were marked, and where the next call continues; nil if there are no more.
  /// - Throws: `StorageError`.
  /// - Complexity: O(*n*) in the number of entries of the file.
  mutating func invalidate(
    _ prefix: IdentityPrefix,
    after cursor: Int64 = 0,
    _ budget: StepBudget
  ) throws -> (marked: Int, next: Int64?) {
    let found = try self.findValid(prefix, after: cursor, budget)
    var marked = 0
    for id in found.ids {
      if budget.isSpent(after: marked) { return (marked, found.ids[marked - 1]) }
      try self.connection.execute(EntryRow.invalidate, self.nextRevision(), id)
      marked += 1
    }
    return (marked, found.next)
  }

  /// The entries to invalidate, as many as are found in half of the time.
  private func findValid(
    _ prefix: IdentityPrefix, after cursor: Int64, _ budget: StepBudget
  ) throws -> (ids: [Int64], next: Int64?) {
    let partition = self.partition
    return try self.connection.withStatement(EntryRow.readValid) { row in
      try row.bindAll(cursor, partition)
      var ids = [Int64]()
      var count = 0
      while try row.step() {
        count += 1
        if try row.withText(at: 1, { prefix.matches($0) }) { ids.append(try row.integer(at: 0)) }
        // The clock is read only now and then.
        let isLate = count.isMultiple(of: 64) && budget.isHalfSpent
        if ids.count >= budget.rows || isLate { return (ids, try row.integer(at: 0)) }
      }
      return (ids, nil)
    }
  }
}
