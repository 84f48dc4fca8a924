/// Keeps what queries know from one launch to the next: the seam between stores and a disk.
///
/// `SQLiteQueryStorage` of the module `QuerySQLite` is the one for programs, ``MemoryQueryStorage``
/// the one for tests. An application passes one to its client:
/// ```swift
/// let storage = try SQLiteQueryStorage(applicationID: "org.example.notes")
/// let client = QueryClient(storage: storage)
/// let notes = client.store(for: NotesQuery(folder: 3).persisted())
/// ```
/// A storage knows neither states nor values: it receives coded entries, each of them for a
/// ``StorageSlot``. Each requirement says on which thread it is called and whether it may wait; a
/// store calls ``read(_:)`` and ``write(_:)`` on the thread of its caller.
public protocol QueryStorage: Sendable {
  /// The queries that this storage currently serves.
  var slots: StorageSlots { get }

  /// Reads an entry, if that can be done without waiting. Called when a store is created.
  ///
  /// The change that the slot has not written yet is read before, so the storage need not look at
  /// it.
  ///
  /// - Parameter slot: The query.
  func read(_ slot: StorageSlot) -> StorageReading

  /// Reads an entry for which ``read(_:)`` returned ``StorageReading/later``; waits if it must.
  ///
  /// - Parameter slot: The query.
  func readLater(_ slot: StorageSlot) async -> StorageReading

  /// Records what became of an entry that was read: counts it, reports it, and moves it to the
  /// quarantine if ``StorageMiss/isQuarantined`` says so.
  ///
  /// - Parameters:
  ///   - slot: The query.
  ///   - entry: The entry, if one was read.
  ///   - miss: Why its store could not show it; nil if it does.
  func didHydrate(_ slot: StorageSlot, from entry: StoredEntry?, _ miss: StorageMiss?)

  /// Records that a slot has a change to be written, which ``StorageSlot/takeChange()`` returns.
  ///
  /// Never waits: it is called under the lock of a store. If the slot's change is replaced before
  /// it was taken, this is not called again.
  ///
  /// - Parameter slot: The query.
  func write(_ slot: StorageSlot)

  /// Marks entries whose path begins with another one as invalidated, whether their stores live or
  /// not. Does not wait; ``flush()`` does.
  ///
  /// - Parameter path: The beginning of the paths. The empty path means all.
  func invalidate(matching path: QueryPath)

  /// Reads all entries whose path begins with another one in one go, and keeps them in memory until
  /// their stores are created.
  ///
  /// - Parameter path: The beginning of the paths. The empty path means all.
  /// - Throws: ``StorageError``.
  func prefetch(matching path: QueryPath) async throws

  /// Returns when all changes so far are committed.
  ///
  /// - Throws: ``StorageError`` if it could not be; it is tried again later.
  func flush() async throws

  /// Writes what is left, and closes the files. Later use throws, or does nothing if it cannot
  /// throw.
  ///
  /// - Throws: ``StorageError`` if not all could be written.
  func close() async throws

  /// Erases everything of this storage's account: in memory, on disk, and changes not yet written.
  /// Living stores are reset, and write nothing until they are made anew.
  ///
  /// - Throws: ``StorageError`` if the disk could not be cleaned yet; the next opening finishes it.
  func erase() async throws

  /// What happens from now on: a stream of its own at each access.
  var events: StorageEvents { get }

  /// Counts of what is stored, and of what was done.
  var statistics: StorageStatistics { get }

  /// Values with more coded bytes than this are decoded off the thread that creates the store.
  var synchronousHydrationLimit: Int { get }

  /// The mutations that no server has acknowledged yet.
  var outbox: any MutationOutbox { get }

  /// The lists of queries that are kept whole.
  var packs: any PackStorage { get }
}

/// What a storage found of a query.
public enum StorageReading: Sendable {
  /// An entry.
  case entry(StoredEntry)
  /// Nothing that can be shown, and why.
  case miss(StorageMiss)
  /// Not without waiting: call ``QueryStorage/readLater(_:)``.
  case later
}
