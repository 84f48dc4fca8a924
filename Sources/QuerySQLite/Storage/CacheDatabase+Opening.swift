import Foundation
import Query

// MARK: - One per folder

extension CacheDatabase {
  // Held while a file is opened, so that two storages on one folder share it.
  private static let opening = NSLock()
  private static let open = Locked([HeldFolder.Key: OpenDatabase<CacheDatabase>]())
  /// Databases whose last storage is gone, while their threads write the remaining changes.
  private static let ending = Locked([HeldFolder.Key: OpenDatabase<CacheDatabase>]())

  /// The database of a folder, and a partition in it, for one storage. ``release(_:completion:)``
  /// ends its use.
  ///
  /// - Throws: `StorageError` for a fault that the user must mend.
  static func open(
    folder: String,
    partition name: String,
    _ configuration: SQLiteQueryStorage.Configuration
  ) throws -> (CacheDatabase, CachePartition) {
    // Created here, so that it has a device and an inode; if it cannot be, opening reports it.
    try? DatabaseFiles().makeFolder(folder)
    let held = HeldFolder(folder)
    let key = held.key
    self.waitForEnd(of: key)
    self.opening.lock()
    defer { self.opening.unlock() }
    let limits = CacheLimits(
      entries: configuration.maximumEntries, bytes: configuration.maximumBytes)
    if let open = self.open.withLock({ $0[key] }) {
      let (partition, isNew) = open.database.partition(name, limits)
      open.holders.withLock { $0 += 1 }
      // A later storage does not wait: until its partition is known, it reads asynchronously.
      if isNew { open.database.run { $0.prepare([partition]) } }
      return (open.database, partition)
    }
    let database = try CacheDatabase(folder: folder, configuration)
    let (partition, _) = database.partition(name, limits)
    try database.start()
    self.open.withLock { $0[key] = OpenDatabase(database, held) }
    return (database, partition)
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
    Self.opening.lock()
    defer { Self.opening.unlock() }
    let found = Self.open.withLock { open in open.first { $0.value.database === self } }
    let isLast = found?.value.holders.withLock { holders in
      holders -= 1
      return holders == 0
    }
    let isUnused = partition.letGo()
    if isLast == true, let found {
      Self.open.withLock { $0[found.key] = nil }
      Self.ending.withLock { $0[found.key] = found.value }
      self.stop(completion: completion)
      return
    }
    let isTaken = self.run { writer in
      let result = Result { try writer.commitAll() }
      // A change that is still pending must find its account in whatever file is opened next.
      if isUnused, case .success = result { self.forget(partition) }
      completion?(result)
    }
    if !isTaken { completion?(.success(())) }
  }

  /// Waits for the previous database of a folder to end, so that its last changes can be read, and
  /// do not come after newer ones. A second at most: that is how long opening may wait.
  private static func waitForEnd(of key: HeldFolder.Key) {
    _ = self.ending.withLock { $0[key] }?.database.end.wait(timeout: .now() + 1)
  }

  /// Records that the thread has ended.
  func didEnd() {
    let old = Self.ending.withLock { ending in
      let key = ending.first { $0.value.database === self }?.key
      return key.flatMap { ending.removeValue(forKey: $0) }
    }
    withExtendedLifetime(old) {}
  }

  private func forget(_ partition: CachePartition) {
    Self.opening.lock()
    defer { Self.opening.unlock() }
    guard !partition.isHeld else { return }
    self.guarded.withLock { $0.partitions[partition.name] = nil }
  }
}

extension DatabaseOpener {
  /// Makes the opener of a cache from a configuration.
  init(cacheIn folder: String, _ configuration: SQLiteQueryStorage.Configuration) {
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
