import Foundation
import Query

/// `cache.sqlite` of one folder, as all storages of this process share it: who reads, who writes, and
/// what waits.
///
/// Threads: stores read through ``readers`` on whatever thread they are created, and hand changes
/// over, which never waits. One thread of this object's own does all the rest, with a ``CacheWriter``
/// that nobody else touches.
///
/// What is guarded, and by what: `guarded` by its own lock, under which nothing is called.
// @unchecked: `writer` is used by the thread that creates this object, before it starts the thread
// that uses it from then on; the rest is Sendable.
final class CacheDatabase: @unchecked Sendable {
  /// Something for the writing thread to do. It deals with its own failures.
  typealias Job = @Sendable (CacheWriter) -> Void

  let configuration: SQLiteQueryStorage.Configuration

  /// The connections that read.
  let readers: ReaderPool

  /// Which file the writer has open; nil while none is. Readers use no other: it could be a new one,
  /// where accounts have other numbers.
  let fileNumber = Locked<FileNumber?>(nil)

  /// Whether the file is read alone, since it cannot be written.
  let isReadAlone = Locked(false)

  /// Of the writing thread alone.
  let writer: CacheWriter

  /// What wakes the writing thread.
  let signal: WakeSignal

  /// What tells that the writing thread has ended.
  let end = DispatchGroup()

  let guarded: Locked<Guarded>

  /// That of jobs.
  let waitingCount = WaitingCount()

  struct Guarded {
    var partitions = [String: CachePartition]()
    /// Slots with a change, the one that waits longest first.
    var queue = [QueuedSlot]()
    var firstQueuedAt: SuspendingClock.Instant?
    /// What is to be marked as invalidated before any change that is queued is written.
    var invalidations = [Invalidation]()
    /// How many of these were written so far.
    var doneInvalidations = 0
    var jobs = [Job]() { didSet { self.waitingCount.value = self.jobs.count } }
    fileprivate let waitingCount: WaitingCount
    var isStopping = false
    /// Whether the writing thread looks for jobs all the time, so that it need not be woken.
    var isSpinning = false
    /// Why nothing can be written, while that is so.
    var degradation: StorageError?
    /// With how many waiting changes the writer looks next how many bytes they have, while it cannot
    /// write them.
    var backlogLimit = CacheDatabase.shortBacklog

    fileprivate init(_ waitingCount: WaitingCount) { self.waitingCount = waitingCount }
  }

  /// So many invalidations wait one by one.
  private static let maximumInvalidations = 1_000

  /// So many changes may wait unseen.
  fileprivate static let shortBacklog = 16

  init(folder: String, _ configuration: SQLiteQueryStorage.Configuration) throws {
    self.configuration = configuration
    self.signal = try WakeSignal()
    self.guarded = Locked(Guarded(self.waitingCount))
    let opener = DatabaseOpener(cacheIn: folder, configuration)
    var readerOpener = opener
    // Opened where a store is created, which must not wait for others.
    readerOpener.patience = .milliseconds(10)
    self.readers = ReaderPool(capacity: max(configuration.readConnections, 1)) {
      [readerOpener, fileNumber, isReadAlone] in
      let isReadAlone = isReadAlone.withLock { $0 }
      let opener = isReadAlone ? readerOpener.forReadingAlone ?? readerOpener : readerOpener
      let connection = try opener.openReader()
      if try fileNumber.withLock({ $0 }) == connection.fileNumber { return connection }
      try? connection.close()
      throw StorageError(
        operation: "open", code: .moved, message: "the file was replaced",
        fileName: DatabaseKind.cache.fileName)
    }
    // Nothing is read before the file is open.
    self.readers.suspend()
    self.writer = CacheWriter(opener: opener, configuration: configuration)
  }
}

/// What is under a path, and is to be marked as invalidated.
final class Invalidation: Sendable {
  let prefix: IdentityPrefix
  let partition: CachePartition

  init(prefix: IdentityPrefix, partition: CachePartition) {
    self.prefix = prefix
    self.partition = partition
  }
}

/// A slot with a change that waits to be written.
struct QueuedSlot: Sendable {
  let slot: StorageSlot
  let partition: CachePartition
}

// MARK: - What waits

extension CacheDatabase {
  /// Takes note that what is under a path is invalidated. What waits to be written is marked here, what
  /// is stored by the writing thread, shortly; what is written from now on is about later values.
  func invalidate(_ prefix: IdentityPrefix, in partition: CachePartition) {
    partition.forgetPrefetched()
    let slots = partition.slots.invalidateChanges(under: prefix)
    self.guarded.withLock { database in
      database.invalidations.append(Invalidation(prefix: prefix, partition: partition))
      // While nothing can be written they must not grow without end: then all is invalidated.
      guard database.invalidations.count > Self.maximumInvalidations else { return }
      let partitions = Set(database.invalidations.map { ObjectIdentifier($0.partition) })
      guard let all = try? IdentityPrefix(path: []), partitions.count < Self.maximumInvalidations
      else { return }
      database.invalidations = database.partitions.values.filter {
        partitions.contains(ObjectIdentifier($0))
      }.map { Invalidation(prefix: all, partition: $0) }
    }
    for slot in slots { self.write(slot, in: partition) }
    // Where it cannot be written, it is tried again with everything else.
    self.run { try? $0.commitAll() }
  }

  /// The invalidation that is written next, before any change.
  var firstInvalidation: Invalidation? { self.guarded.withLock { $0.invalidations.first } }

  /// Forgets an invalidation that was written.
  func remove(_ invalidation: Invalidation) {
    self.guarded.withLock { database in
      database.invalidations.removeAll { $0 === invalidation }
      database.doneInvalidations += 1
    }
  }

  /// How many invalidations were written so far. Where that has changed while an entry was read, what
  /// was read may be from before one that is not listed any more: it is read again.
  var doneInvalidations: Int { self.guarded.withLock { $0.doneInvalidations } }

  /// Forgets those of a partition that is erased.
  func removeInvalidations(of partition: CachePartition) {
    self.guarded.withLock { $0.invalidations.removeAll { $0.partition === partition } }
  }

  /// Whether a stored value is invalidated, though that is not written yet.
  func isInvalidated(_ identity: QueryIdentity, in partition: CachePartition) -> Bool {
    let invalidations = self.guarded.withLock { $0.invalidations }
    return invalidations.contains {
      $0.partition === partition && $0.prefix.matches(identity)
    }
  }

  /// The changes that are written after so many others, for coding them meanwhile.
  func peekQueued(atMost count: Int) -> [StorageSlot] {
    self.guarded.withLock { $0.queue.prefix(count).map(\.slot) }
  }

  /// How many bytes of values wait. They are coded for that, on the thread that asks, and once.
  var queuedBytes: Int {
    self.guarded.withLock { $0.queue }.reduce(0) { $0 + $1.slot.waitingBytes }
  }

  /// Whether so many changes wait, while they cannot be written, that their bytes are to be counted.
  var isBacklogLong: Bool { self.guarded.withLock { $0.queue.count >= $0.backlogLimit } }

  /// Sets the next time for it. It encodes what waits, so with many it is done less often.
  func didTrimBacklog() {
    self.guarded.withLock { database in
      database.backlogLimit =
        database.queue.count + max(Self.shortBacklog, database.queue.count / 4)
    }
  }

  var queuedCount: Int { self.guarded.withLock { $0.queue.count } }

  /// Lets the writing thread do something, after what it was asked for before.
  ///
  /// - Returns: Whether it will. Not when it has stopped.
  @discardableResult
  func run(_ job: @escaping Job) -> Bool {
    let (isTaken, mustWake) = self.guarded.withLock { database in
      if database.isStopping { return (false, false) }
      database.jobs.append(job)
      return (true, !database.isSpinning)
    }
    if mustWake { self.signal.wake() }
    return isTaken
  }

  /// Why nothing can be written, while that is so.
  var degradation: StorageError? {
    get { self.guarded.withLock { $0.degradation } }
    set { self.guarded.withLock { $0.degradation = newValue } }
  }

  /// What is thrown where nothing can be done any more.
  static let closed = StorageError(
    operation: "read", code: .misuse, message: "the storage is closed",
    fileName: DatabaseKind.cache.fileName)

  /// The partitions that are open.
  var partitions: [CachePartition] {
    self.guarded.withLock { Array($0.partitions.values) }
  }
}
