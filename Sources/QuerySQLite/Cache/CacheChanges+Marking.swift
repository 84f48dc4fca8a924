import Foundation
import Query

// MARK: - Uses

extension CacheChanges {
  /// Records that entries were used. What is not stored is passed over.
  ///
  /// - Parameter hashes: The hashes of their identities, the latest use last.
  /// - Throws: `StorageError`.
  mutating func recordUses(_ hashes: [XXH128]) throws {
    for hash in hashes {
      let number = self.totals.revision + 1
      try self.connection.execute(EntryRow.updateUse, number, self.partition, hash)
      if try self.connection.changes > 0 { _ = self.nextHiddenNumber() }
    }
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
  ///   - limit: How many are marked at most, so that a transaction is not too long.
  /// - Returns: How many were marked, and where the next call goes on; nil where that were all.
  /// - Throws: `StorageError`.
  /// - Complexity: O(*n*) in the number of entries of the file.
  mutating func invalidate(
    _ prefix: IdentityPrefix,
    after cursor: Int64 = 0,
    upTo limit: Int = .max
  ) throws -> (marked: Int, next: Int64?) {
    let partition = self.partition
    let ids = try self.connection.withStatement(EntryRow.readValid) { row in
      try row.bindAll(cursor, partition)
      var ids = [Int64]()
      while ids.count < limit, try row.step() {
        if try row.withText(at: 1, { prefix.matches($0) }) { ids.append(try row.integer(at: 0)) }
      }
      return ids
    }
    for id in ids { try self.connection.execute(EntryRow.invalidate, self.nextRevision(), id) }
    return (ids.count, ids.count < limit ? nil : ids.last)
  }
}
