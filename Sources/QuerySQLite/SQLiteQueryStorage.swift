public import FoundationEssentials
public import Query

/// Keeps queries in SQLite files, for the next launch.
///
/// ```swift
/// let storage = try SQLiteQueryStorage(applicationID: "org.example.notes")
/// let client = QueryClient(storage: storage)
/// ```
/// One thread writes changes, a moment after they were made, many at a time; ``flush()`` waits for
/// it, and a normal exit of the program writes what is left. Any number of processes may use the
/// same files. Storages of one process on the same folder share connections, and those of one
/// partition share what they know.
///
/// If the disk fails, is full, or may not be written to, queries go on from memory and network:
/// `statistics.isDegraded` and an event say so, until a later write works. A cache that can be read
/// but not written, as on a read-only medium, is shown meanwhile.
///
/// Folders and files are created for this user alone. A folder that other users may write to is
/// used as it is: nothing that they put there is waited for, run, or written through, but any user
/// with write access to it can also replace the files.
public final class SQLiteQueryStorage: QueryStorage {
  /// The settings of a storage.
  public typealias Configuration = SQLiteStorageConfiguration

  /// When a commit reaches the disk.
  public typealias Durability = SQLiteStorageConfiguration.Durability

  // Not private: tests take its readers away.
  let database: CacheDatabase
  let mutations: SQLiteOutbox
  let partition: CachePartition
  let configuration: Configuration
  let isClosed = Locked(false)

  /// Opens the storage of an application, in the folders that XDG names: `$XDG_CACHE_HOME/<id>` for
  /// values and `$XDG_DATA_HOME/<id>` for unsent writes, by default `~/.cache/<id>` and
  /// `~/.local/share/<id>`.
  ///
  /// - Parameters:
  ///   - applicationID: The name of the folders, as `org.example.notes`.
  ///   - partition: The account. Accounts share nothing but the files. Names that are equal in
  ///     Swift, whatever composition their characters have, are one account.
  ///   - configuration: How the storage works.
  /// - Throws: `StorageError` for what a person must mend: an identifier that is no file name, a
  ///   network file system, another program's file. Anything else that is wrong leaves a storage
  ///   that works from memory, and tries again.
  public convenience init(
    applicationID: String,
    partition: String = "",
    configuration: Configuration = Configuration()
  ) throws {
    try self.init(
      StorageLocations(applicationID: applicationID), partition: partition, configuration)
  }

  /// Opens a storage with all its files in one folder, which is created if it is missing.
  ///
  /// - Parameters:
  ///   - directory: The folder.
  ///   - partition: The account. Accounts share nothing but the files. Names that are equal in
  ///     Swift, whatever composition their characters have, are one account.
  ///   - configuration: How the storage works.
  /// - Throws: `StorageError`, as `init(applicationID:partition:configuration:)`.
  public convenience init(
    directory: URL,
    partition: String = "",
    configuration: Configuration = Configuration()
  ) throws {
    try self.init(StorageLocations(directory: directory), partition: partition, configuration)
  }

  private init(
    _ locations: StorageLocations,
    partition: String,
    _ configuration: Configuration
  ) throws {
    self.configuration = configuration
    let partition = partition.asAccountName
    let (database, cache) = try CacheDatabase.open(
      folder: locations.folder(of: .cache), partition: partition, configuration)
    (self.database, self.partition) = (database, cache)
    do {
      self.mutations = try SQLiteOutbox(
        folder: locations.folder(of: .mutations), partition: partition, configuration,
        OutboxPartition.Hooks(database, cache))
    } catch {
      database.release(cache, completion: nil)
      throw error
    }
  }

  deinit {
    // What is left is written, and no caller waits for it.
    if self.isClosed.withLock({ $0 }) { return }
    self.mutations.release(completion: nil)
    self.database.release(self.partition, completion: nil)
  }
}

// MARK: - Life

extension SQLiteQueryStorage {
  /// Returns when everything that was handed over before is committed.
  ///
  /// - Throws: `StorageError` if it could not be committed. The storage tries again later.
  public func flush() async throws {
    try self.requireOpen("flush")
    try await self.database.flush()
  }

  /// Writes what is left, copies the WAL into the file if this was its last user, and closes the
  /// files. A later call throws, or does nothing if it cannot throw. A second call does nothing.
  ///
  /// - Throws: `StorageError` if not everything could be written.
  public func close() async throws {
    await self.database.waitUntilHandedOver()
    let isFirst = self.isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    guard isFirst else { return }
    // First the outbox, which tells the cache what has become stale.
    let outbox = await withCheckedContinuation { done in
      self.mutations.release { done.resume(returning: $0) }
    }
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      self.database.release(self.partition) { done.resume(with: $0) }
    }
    try outbox.get()
  }

  /// Forgets everything of this partition: what is in memory, in the files, in their WALs, in files
  /// that were set aside, and what was about to be written. A hash stands in for the partition's
  /// name until something is written again. Living stores are reset, and write nothing until they
  /// are created anew; a warning reports the first value that is not written. Other partitions keep
  /// what they have.
  ///
  /// Once its first commit is done, no process finds any of it in either file. Then its rows are
  /// deleted, and their bytes overwritten, in many small transactions: other processes, and other
  /// partitions, write meanwhile. What another process writes to this partition after that first
  /// commit stays.
  ///
  /// - Throws: `StorageError` if another process's reader stayed in the way for 30 s: the rows are
  ///   gone, their bytes are not, and the next opening finishes the work.
  public func erase() async throws {
    try self.requireOpen("erase")
    // Both are tried, whatever becomes of the first.
    var failure: (any Error)?
    do {
      try await self.mutations.erase()
    } catch {
      failure = error
    }
    try await self.database.erase(self.partition)
    if let failure { throw failure }
  }

  func requireOpen(_ operation: String) throws(StorageError) {
    guard self.isClosed.withLock({ $0 }) else { return }
    throw StorageError(
      operation: operation, code: .misuse, message: "the storage is closed",
      fileName: DatabaseKind.cache.fileName)
  }
}

// MARK: - Looking

extension SQLiteQueryStorage {
  /// What happens in this partition from now on: each access returns a stream of its own, which
  /// keeps the newest 256 events. If the storage is degraded already, the stream begins with that;
  /// if a file was set aside before any caller listened, the first stream begins with that.
  public var events: StorageEvents {
    let degraded = self.database.health.error.map { StorageEvent.degraded($0) }
    let first = degraded ?? self.partition.takeUnheard()
    let events = self.partition.hub.makeEvents(startingWith: first)
    // It may have been reported after the first look, and before this stream was there.
    guard first == nil, let error = self.database.health.error else { return events }
    return self.partition.hub.makeEvents(startingWith: .degraded(error))
  }

  /// What this partition has, and what this process did with it.
  public var statistics: StorageStatistics {
    var statistics = self.partition.statistics
    statistics.bytesWritten += self.mutations.database.bytesWritten
    statistics.isDegraded =
      self.database.health.error != nil || self.mutations.database.health.error != nil
    return statistics
  }

  /// Values with more coded bytes than this are decoded off the thread that creates the store.
  public var synchronousHydrationLimit: Int { self.configuration.synchronousHydrationLimit }
}

// MARK: - As clients use it

extension SQLiteQueryStorage {
  public var slots: StorageSlots { self.partition.slots }

  public func invalidate(matching path: QueryPath) {
    // If the path has no identity, no stored entry is under it.
    guard let prefix = try? IdentityPrefix(path: path) else { return }
    self.database.invalidate(prefix, in: self.partition)
  }

  /// Reads all entries under a path in one scan, and keeps them in memory until their stores are
  /// created: at most 64 MiB of them.
  ///
  /// - Parameter path: The beginning of the paths. The empty path means all.
  /// - Throws: `StorageError`.
  public func prefetch(matching path: QueryPath) async throws {
    try self.requireOpen("prefetch")
    guard let prefix = try? IdentityPrefix(path: path) else { return }
    try await self.database.prefetch(prefix, in: self.partition)
  }
}
