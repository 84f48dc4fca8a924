import FoundationEssentials
import Query

// MARK: - One per folder

extension CacheDatabase {
  private static let registry = FolderRegistry<CacheDatabase>()

  /// The database of a folder, and a partition in it, for one storage. ``release(_:completion:)``
  /// ends its use.
  ///
  /// - Throws: `StorageError` for a fault that the user must mend.
  static func open(
    folder: String,
    partition name: String,
    _ configuration: SQLiteStorageConfiguration
  ) throws -> (CacheDatabase, CachePartition) {
    let limits = CacheLimits(
      entries: configuration.maximumEntries, bytes: configuration.maximumBytes)
    let new = CachePartition(name: name, limits: limits)
    return try self.registry.hold(folder) { old in
      // A second at most: that is how long opening may wait.
      old.thread.waitUntilEnded(atMost: .seconds(1))
    } joining: { database in
      let (partition, isNew) = database.openPartitions.hold(name, orAdd: new)
      // A later storage does not wait: until its partition is known, it reads asynchronously.
      if isNew { database.thread.perform { $0.prepare([partition]) } }
      return partition
    } making: {
      let database = try CacheDatabase(folder: folder, configuration)
      let (partition, _) = database.openPartitions.hold(name, orAdd: new)
      try database.thread.writer.start(for: database)
      // The thread keeps the database until it has ended.
      database.thread.start { Self.registry.didEnd(database) }
      return (database, partition)
    }
  }

  /// Ends the use of a partition by one storage. With the last one the files are closed.
  ///
  /// - Parameters:
  ///   - partition: The partition.
  ///   - completion: Called when the pending changes are written.
  func release(
    _ partition: CachePartition,
    completion: (@Sendable (Result<Void, any Error>) -> Void)?
  ) {
    Self.registry.release(self) { isLast in
      let isUnused = self.openPartitions.letGo(partition.name)
      if isLast { return self.thread.stop(completion: completion) }
      let isTaken = self.thread.perform { writer in
        let result = Result { try writer.commitAll() }
        // A change that is still pending must find its account in whatever file is opened next.
        if isUnused, case .success = result { self.openPartitions.forget(partition.name) }
        completion?(result)
      }
      if !isTaken { completion?(.success(())) }
      return false
    }
  }
}
