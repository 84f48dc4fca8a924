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
    return try self.registry.hold(folder) { old in
      // A second at most: that is how long opening may wait.
      old.thread.waitUntilEnded(atMost: .seconds(1))
    } joining: { database in
      let (partition, isNew) = database.partition(name, limits)
      // A later storage does not wait: until its partition is known, it reads asynchronously.
      if isNew { database.thread.perform { $0.prepare([partition]) } }
      return partition
    } making: {
      let database = try CacheDatabase(folder: folder, configuration)
      let (partition, _) = database.partition(name, limits)
      try database.thread.writer.start(for: database)
      // The thread keeps the database until it has ended.
      database.thread.start { Self.registry.didEnd(database) }
      return (database, partition)
    }
  }

  private func partition(
    _ name: String,
    _ limits: CacheLimits
  ) -> (CachePartition, isNew: Bool) {
    let new = CachePartition(name: name, limits: limits)
    let (partition, isNew) = self.guarded.withLock { database in
      if let partition = database.partitions[name] { return (partition, false) }
      database.partitions[name] = new
      return (new, true)
    }
    partition.hold()
    return (partition, isNew)
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
      let isUnused = partition.letGo()
      if isLast { return self.thread.stop(completion: completion) }
      let isTaken = self.thread.perform { writer in
        let result = Result { try writer.commitAll() }
        // A change that is still pending must find its account in whatever file is opened next.
        if isUnused, case .success = result { self.forget(partition) }
        completion?(result)
      }
      if !isTaken { completion?(.success(())) }
      return false
    }
  }

  private func forget(_ partition: CachePartition) {
    Self.registry.withLock {
      guard !partition.isHeld else { return }
      self.guarded.withLock { $0.partitions[partition.name] = nil }
    }
  }
}

extension DatabaseOpener {
  /// Makes the opener of a cache from a configuration.
  init(cacheIn folder: String, _ configuration: SQLiteStorageConfiguration) {
    self.init(kind: .cache, folder: folder)
    self.durability = configuration.cacheDurability == .full ? .full : .normal
    self.options.busyTimeout = configuration.busyTimeout
    self.options.revealsValues = configuration.revealsBoundValues
    self.options.vfs = configuration.vfs
    if let fileSystemType = configuration.fileSystemType {
      self.files.fileSystemType = fileSystemType
    }
  }
}
