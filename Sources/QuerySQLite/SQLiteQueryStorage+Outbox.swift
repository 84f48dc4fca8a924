public import Query

extension SQLiteQueryStorage {
  /// The mutations of this partition that no server has acknowledged yet, in `mutations.sqlite`.
  public var outbox: any MutationOutbox { self.mutations }

  /// The accounts of the outbox's file that have live or dead mutations, in the order of their names.
  ///
  /// - Throws: `StorageError`.
  package func accountsWithMutations() throws -> [(name: String, counts: OutboxCounts)] {
    try self.mutations.accounts()
  }

  /// How many transactions this process has committed to the outbox's file.
  package var outboxCommits: Int { self.mutations.database.commits }
}

extension OutboxPartition.Hooks {
  /// The effects of an outbox on the cache beside it.
  init(_ database: CacheDatabase, _ partition: CachePartition) {
    self.init(
      tell: { event in partition.tell(event) },
      invalidate: { prefixes, instant, completion in
        database.invalidate(prefixes, in: partition, at: instant, completion: completion)
      },
      missing: { edits, completion in
        database.findMissing(edits, in: partition, completion: completion)
      },
      show: { change in partition.slots.show(change) })
  }
}
