public import Query

extension SQLiteQueryStorage {
  /// The mutations of this partition that no server has acknowledged yet, in `mutations.sqlite`.
  public var outbox: any MutationOutbox { self.mutations }

  /// How many transactions the outbox's file has seen of this process.
  package var outboxCommits: Int { self.mutations.database.commits }
}

extension OutboxPartition.Hooks {
  /// What an outbox does to the cache beside it.
  init(_ database: CacheDatabase, _ partition: CachePartition) {
    self.init(
      tell: { event in partition.tell(event) },
      invalidate: { prefixes, completion in
        database.invalidate(prefixes, in: partition, completion: completion)
      })
  }
}

extension CacheDatabase {
  /// Marks what is under paths as invalidated, and says whether that is written.
  func invalidate(
    _ prefixes: [IdentityPrefix],
    in partition: CachePartition,
    completion: @escaping @Sendable (Bool) -> Void
  ) {
    for prefix in prefixes { self.invalidate(prefix, in: partition) }
    let isTaken = self.run { writer in
      completion((try? writer.commitAll()) != nil)
    }
    if !isTaken { completion(false) }
  }
}
