import Foundation
import Query

// MARK: - Uses

extension CacheChanges {
  /// Records that entries were used, as many as fit a transaction. What is not stored is passed over.
  ///
  /// - Parameter hashes: The hashes of their identities, the latest use last.
  /// - Returns: How many were recorded or passed over, the first ones.
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
  /// Marks entries as invalidated whose path begins with another one, each with a new revision. What
  /// is invalidated already is not written again.
  ///
  /// - Parameters:
  ///   - prefix: The beginning of the paths.
  ///   - cursor: Where a call before this one has ended.
  ///   - budget: How many are marked at most, and how long that may take: the search, too.
  /// - Returns: How many were marked, and where the next call goes on; nil where that were all.
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

  /// The entries that are to be marked, as many as are found in half of the time.
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
        // The clock is asked now and then.
        let isLate = count.isMultiple(of: 64) && budget.isHalfSpent
        if ids.count >= budget.rows || isLate { return (ids, try row.integer(at: 0)) }
      }
      return (ids, nil)
    }
  }
}
