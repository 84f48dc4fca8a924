import FoundationEssentials
import Query

/// `cache.sqlite` of one folder, as all storages of this process share it: the readers, the writer,
/// and the pending changes.
///
/// Threads: stores read through ``readers`` on whatever thread they are created, and submit changes
/// without ever waiting. A caller of ``flush()`` commits them, if nothing else is under way; all the
/// rest is done by one thread of this object's own, with a ``CacheWriter`` that one thread at a time
/// uses.
///
/// Locking: `guarded` has its own lock, under which nothing is called.
final class CacheDatabase: Sendable {
  let configuration: SQLiteStorageConfiguration

  /// The connections that read.
  let readers: ReaderPool

  /// The file that the writer has open; nil while there is none. Readers use no other: it could be
  /// a new one, in which accounts have other numbers.
  let fileNumber = Locked<FileNumber?>(nil)

  /// Whether the file is only read, since it cannot be written.
  let isReadAlone = Locked(false)

  let thread: WritingThread<CacheWriter, CacheWriter.Job>

  /// Whether the file can be written.
  let health: WriteHealth

  let guarded = Locked(Guarded())

  /// Lets living stores hand over again what was in a file that was replaced; nil once a caller of
  /// ``flush()`` has written it.
  private let handingOver = Locked<Task<Void, Never>?>(nil)

  /// The accounts that storages have open.
  let openPartitions = OpenPartitions<CachePartition>()

  struct Guarded {
    /// Slots with a change, the one that has waited longest first.
    var queue = [QueuedSlot]()
    var firstQueuedAt: SuspendingClock.Instant?
    /// Invalidations to write before any queued change.
    var invalidations = [Invalidation]()
    /// How many invalidations were written so far.
    var doneInvalidations = 0
    /// Whether the thread is about to commit what was invalidated.
    var isCommitQueued = false
    /// At how many pending changes the writer next counts their bytes, while it cannot write them.
    var backlogLimit = CacheDatabase.shortBacklog
  }

  /// Beyond this many, invalidations are merged.
  private static let maximumInvalidations = 1_000

  /// How many changes may be pending without their bytes being counted.
  fileprivate static let shortBacklog = 16

  init(folder: String, _ configuration: SQLiteStorageConfiguration) throws {
    self.configuration = configuration
    self.health = WriteHealth(firstDelay: configuration.retryDelay) { [openPartitions] event in
      for partition in openPartitions.all { partition.hub.send(event) }
    }
    let opener = DatabaseOpener(.cache, in: folder, configuration)
    var readerOpener = opener
    // Opened while a store is created, which must not wait for other connections.
    readerOpener.patience = .milliseconds(10)
    self.readers = ReaderPool(.cache, of: self.fileNumber, configuration) {
      [readerOpener, isReadAlone] in
      let isReadAlone = isReadAlone.withLock { $0 }
      let opener = isReadAlone ? readerOpener.forReadingAlone ?? readerOpener : readerOpener
      return try opener.openReader()
    }
    self.thread = try WritingThread(
      name: "query-cache", CacheWriter(opener: opener, configuration: configuration))
  }
}

/// A path whose entries are to be invalidated.
final class Invalidation: Sendable {
  let prefix: IdentityPrefix
  let partition: CachePartition
  /// When that was asked for.
  let instant: ContinuousClock.Instant

  init(prefix: IdentityPrefix, partition: CachePartition, at instant: ContinuousClock.Instant) {
    self.prefix = prefix
    self.partition = partition
    self.instant = instant
  }
}

/// A slot with a pending change.
struct QueuedSlot: Sendable {
  let slot: StorageSlot
  let partition: CachePartition
}

// MARK: - Pending changes

extension CacheDatabase {
  /// Invalidates everything under a path. Pending changes are marked here, stored entries shortly
  /// by the writing thread; changes written from now on are about later values.
  ///
  /// - Parameter instant: When that was asked for: a value of a later fetch ends it.
  func invalidate(
    _ prefix: IdentityPrefix, in partition: CachePartition,
    at instant: ContinuousClock.Instant = .now
  ) {
    partition.forgetPrefetched()
    let invalidation = Invalidation(prefix: prefix, partition: partition, at: instant)
    let slots = partition.slots.invalidateChanges(under: prefix)
    self.add(invalidation)
    for slot in slots { self.write(slot, in: partition) }
    // Last: a commit that is queued already has all of it.
    let isQueued = self.guarded.withLock { database in
      defer { database.isCommitQueued = true }
      return database.isCommitQueued
    }
    if isQueued { return }
    self.thread.perform { writer in
      writer.database.guarded.withLock { $0.isCommitQueued = false }
      _ = writer.commitUnlessRetrying()
    }
  }

  /// Lists an invalidation, which is written with the next commit.
  func add(_ invalidation: Invalidation) {
    let open = self.partitions
    self.guarded.withLock { database in
      database.invalidations.append(invalidation)
      // While nothing can be written they must not grow without limit: then everything is
      // invalidated.
      guard database.invalidations.count > Self.maximumInvalidations else { return }
      let partitions = Set(database.invalidations.map { ObjectIdentifier($0.partition) })
      guard let all = try? IdentityPrefix(path: []), partitions.count < Self.maximumInvalidations
      else { return }
      database.invalidations = open.filter {
        partitions.contains(ObjectIdentifier($0))
      }.map { Invalidation(prefix: all, partition: $0, at: .now) }
    }
  }

  /// Invalidates the entries under paths, and reports whether that is written.
  func invalidate(
    _ prefixes: [IdentityPrefix],
    in partition: CachePartition,
    at instant: ContinuousClock.Instant,
    completion: @escaping @Sendable (Bool) -> Void
  ) {
    for prefix in prefixes { self.invalidate(prefix, in: partition, at: instant) }
    let isTaken = self.thread.perform { completion($0.commitUnlessRetrying()) }
    if !isTaken { completion(false) }
  }

  /// Lets the living stores hand over their values again: the file that had them was replaced, and what
  /// people see must not be gone at the next launch.
  func handOverAgain() {
    self.handOverAgain { [partitions = self.partitions] in
      for partition in partitions { partition.slots.handOverAgain() }
    }
  }

  /// Lets the stores of a query hand over their value again: what was stored of it was damaged.
  func handOverAgain(_ slot: StorageSlot) { self.handOverAgain { slot.handOverAgain() } }

  /// In a task: a store may be busy with its user's code, and the thread that writes does not wait for it.
  func handOverAgain(_ body: @escaping @Sendable () -> Void) {
    self.handingOver.withLock { task in
      task = Task.detached { [earlier = task] in
        await earlier?.value
        body()
      }
    }
  }

  /// Returns when what stores hand over again is committed, if there is any.
  ///
  /// - Throws: `StorageError`.
  func flushHandedOver() async throws {
    guard let handingOver = self.handingOver.withLock({ $0 }) else { return }
    await handingOver.value
    try await self.perform { try $0.commitAllForCaller() }
    // Until then, each caller waits for it.
    self.handingOver.withLock { if $0 == handingOver { $0 = nil } }
  }

  /// Returns when stores have handed over their values again.
  func waitUntilHandedOver() async { await self.handingOver.withLock({ $0 })?.value }

  /// The next invalidation to write, before any change.
  var firstInvalidation: Invalidation? { self.guarded.withLock { $0.invalidations.first } }

  /// Removes an invalidation that was written.
  func remove(_ invalidation: Invalidation) {
    self.guarded.withLock { database in
      database.invalidations.removeAll { $0 === invalidation }
      database.doneInvalidations += 1
    }
  }

  /// How many invalidations were written so far. If the number has changed while an entry was read,
  /// the entry may be older than an invalidation that is no longer listed: it is read again.
  var doneInvalidations: Int { self.guarded.withLock { $0.doneInvalidations } }

  /// Removes the invalidations of a partition that is erased.
  func removeInvalidations(of partition: CachePartition) {
    self.guarded.withLock { $0.invalidations.removeAll { $0.partition === partition } }
  }

  /// When a stored value was invalidated, if that is not written yet.
  func invalidation(
    of identity: QueryIdentity, in partition: CachePartition
  ) -> ContinuousClock.Instant? {
    let invalidations = self.guarded.withLock { $0.invalidations }
    return invalidations.last {
      $0.partition === partition && $0.prefix.matches(identity)
    }?.instant
  }

  /// The bytes of pending values. For that they are encoded, once, on the calling thread, which is the one
  /// that takes changes from the queue.
  var queuedBytes: Int { self.sumOfQueued(\.waitingBytes) }

  /// About how many bytes the pending values have: as many as when they were last encoded. The same thread
  /// asks as for ``queuedBytes``.
  var likelyQueuedBytes: Int { self.sumOfQueued(\.likelyWaitingBytes) }

  private func sumOfQueued(_ bytesOf: (StorageSlot) -> Int) -> Int {
    let count = self.queuedCount
    var bytes = 0
    for start in stride(from: 0, to: count, by: Self.countedAtOnce) {
      // Not the queue itself: a thread that changes a store meanwhile would have to copy it.
      let some = self.guarded.withLock { database in
        Array(database.queue[start..<min(start + Self.countedAtOnce, count)])
      }
      for queued in some { bytes += bytesOf(queued.slot) }
    }
    return bytes
  }

  private static let countedAtOnce = 32

  /// Whether so many changes are pending, while they cannot be written, that their bytes must be
  /// counted.
  var isBacklogLong: Bool { self.guarded.withLock { $0.queue.count >= $0.backlogLimit } }

  /// Sets when to count next. Counting encodes pending values, so with many it is done less often.
  func didTrimBacklog() {
    self.guarded.withLock { database in
      database.backlogLimit =
        database.queue.count + max(Self.shortBacklog, database.queue.count / 4)
    }
  }

  var queuedCount: Int { self.guarded.withLock { $0.queue.count } }

  /// Since when a change has been pending; nil if none is.
  var queuedSince: SuspendingClock.Instant? { self.guarded.withLock { $0.firstQueuedAt } }

  /// Thrown once the storage is closed.
  static let closed = StorageError(
    operation: "read", code: .misuse, message: "the storage is closed",
    fileName: DatabaseKind.cache.fileName)

  /// The open partitions.
  var partitions: [CachePartition] { self.openPartitions.all }
}
