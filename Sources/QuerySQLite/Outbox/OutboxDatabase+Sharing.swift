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
    let new = OutboxPartition(name: name)
    return try self.registry.hold(folder) { database in
      database.openPartitions.hold(name, orAdd: new).partition
    } making: {
      try DatabaseOpener(.mutations, in: folder, configuration).refuseWhatIsNotOurs()
      let database = try OutboxDatabase(folder: folder, configuration)
      return (database, database.openPartitions.hold(name, orAdd: new).partition)
    }
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
      // The next storage claims for handlers of its own.
      if self.openPartitions.letGo(partition.name) { partition.handlers = nil }
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
