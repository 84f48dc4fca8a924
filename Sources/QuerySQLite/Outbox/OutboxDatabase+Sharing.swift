import FoundationEssentials
import Query

// MARK: - One per folder

extension OutboxDatabase {
  private static let registry = FolderRegistry<OutboxDatabase>()

  /// The outbox of a folder, and a partition in it, for one storage. ``release(_:completion:)``
  /// ends its use.
  ///
  /// - Throws: `StorageError` for a fault that the user must mend.
  static func open(
    folder: String,
    partition name: String,
    _ configuration: SQLiteStorageConfiguration
  ) throws -> (OutboxDatabase, OutboxPartition) {
    try self.registry.hold(folder) { database in
      database.partition(name)
    } making: {
      try DatabaseOpener(outboxIn: folder, configuration).refuseWhatIsNotOurs()
      let database = try OutboxDatabase(folder: folder, configuration)
      return (database, database.partition(name))
    }
  }

  private func partition(_ name: String) -> OutboxPartition {
    let new = OutboxPartition(name: name)
    let partition = self.guarded.withLock { database in
      if let partition = database.partitions[name] { return partition }
      database.partitions[name] = new
      return new
    }
    partition.hold()
    return partition
  }

  /// Begins to read what a partition has, if there is a file: its successes may have effects that a
  /// crash left undone.
  func prepare(_ partition: OutboxPartition) {
    let isStarted = self.thread.isStarted
    if !isStarted && self.hasNothing { return }
    self.start()
    if isStarted { self.thread.perform { $0.prepare(partition) } }
  }

  /// Ends the use of a partition by one storage. With the last one the file is closed, and rows
  /// that this process runs are pending again.
  ///
  /// - Parameters:
  ///   - partition: The partition.
  ///   - completion: Called when the pending writes are done.
  func release(
    _ partition: OutboxPartition,
    completion: (@Sendable (Result<Void, any Error>) -> Void)?
  ) {
    Self.registry.release(self) { isLast in
      _ = partition.letGo()
      if isLast { return self.thread.stop(completion: completion) }
      completion?(.success(()))
      return false
    }
  }

  /// Starts the thread, which opens the file, unless it is running.
  func start() {
    self.thread.start {
      $0.start(for: self)
    } didEnd: {
      Self.registry.didEnd(self)
    }
  }
}

extension DatabaseOpener {
  /// Makes the opener of an outbox from a configuration.
  init(outboxIn folder: String, _ configuration: SQLiteStorageConfiguration) {
    self.init(kind: .mutations, folder: folder)
    self.durability = configuration.outboxDurability == .full ? .full : .normal
    self.options.busyTimeout = configuration.busyTimeout
    self.options.revealsValues = configuration.revealsBoundValues
    self.options.statementCapacity = 128
    // The transactions remove the rows that refer to a removed row.
    self.options.keepsReferences = false
    self.options.vfs = configuration.vfs
    if let fileSystemType = configuration.fileSystemType {
      self.files.fileSystemType = fileSystemType
    }
  }
}
