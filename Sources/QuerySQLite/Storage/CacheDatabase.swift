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
  let inode = Locked<UInt64?>(nil)

  private let writer: CacheWriter
  private let guarded = Locked(Guarded())
  private let signal = WakeSignal()
  private let end = DispatchGroup()

  private struct Guarded {
    var partitions = [String: CachePartition]()
    /// Slots with a change, the one that waits longest first.
    var queue = [QueuedSlot]()
    var firstQueuedAt: SuspendingClock.Instant?
    /// What is to be marked as invalidated before any change that is queued is written.
    var invalidations = [Invalidation]()
    var jobs = [Job]()
    var isStopping = false
    /// Whether the writing thread looks for jobs all the time, so that it need not be woken.
    var isSpinning = false
    /// Why nothing can be written, while that is so.
    var degradation: StorageError?
    /// With how many waiting changes the writer looks next how many bytes they have, while it cannot
    /// write them.
    var backlogLimit = CacheDatabase.shortBacklog
  }

  /// So many invalidations wait one by one.
  private static let maximumInvalidations = 1_000

  /// So many changes may wait unseen.
  private static let shortBacklog = 16

  fileprivate init(folder: String, _ configuration: SQLiteQueryStorage.Configuration) throws {
    self.configuration = configuration
    let opener = DatabaseOpener(cacheIn: folder, configuration)
    var readerOpener = opener
    // Opened where a store is created, which must not wait for others.
    readerOpener.patience = .milliseconds(10)
    self.readers = ReaderPool(capacity: max(configuration.readConnections, 1)) {
      [readerOpener, inode] in
      let connection = try readerOpener.openReader()
      if try inode.withLock({ $0 }) == connection.fileNumber { return connection }
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

// MARK: - Handing over

extension CacheDatabase {
  /// Takes note of a change. Never waits.
  func write(_ slot: StorageSlot, in partition: CachePartition) {
    partition.forgetPrefetched(slot.identity)
    let isDue = self.guarded.withLock { database in
      database.queue.append(QueuedSlot(slot: slot, partition: partition))
      if database.firstQueuedAt == nil { database.firstQueuedAt = .now }
      // The first one sets the time, the thousandth is as many as are written at a time.
      return database.queue.count == 1 && !database.isSpinning
        || database.queue.count == CacheWriter.maximumBatch
        || database.degradation != nil && database.queue.count == database.backlogLimit
    }
    if isDue { self.signal.wake() }
  }

  /// Puts changes back that could not be written, before those that came since.
  func requeue(_ slots: [QueuedSlot]) {
    self.guarded.withLock { database in
      database.queue.insert(contentsOf: slots, at: 0)
      if !slots.isEmpty, database.firstQueuedAt == nil { database.firstQueuedAt = .now }
    }
  }

  /// Takes the changes that are written next.
  func takeQueued(atMost count: Int) -> [QueuedSlot] {
    self.guarded.withLock { database in
      let taken = Array(database.queue.prefix(count))
      database.queue.removeFirst(taken.count)
      // What is left came meanwhile.
      database.firstQueuedAt = database.queue.isEmpty ? nil : .now
      return taken
    }
  }

  /// Takes note that what is under a path is invalidated. What waits to be written is marked here, what
  /// is stored by the writing thread; what is written from now on is about later values.
  func queue(_ invalidation: Invalidation) {
    let slots = invalidation.partition.slots.invalidateChanges(under: invalidation.prefix)
    self.guarded.withLock { database in
      database.invalidations.append(invalidation)
      // While nothing can be written they must not grow without end: then all is invalidated.
      guard database.invalidations.count > Self.maximumInvalidations else { return }
      let partitions = Set(database.invalidations.map { ObjectIdentifier($0.partition) })
      guard let all = try? IdentityPrefix(path: []), partitions.count < Self.maximumInvalidations
      else { return }
      database.invalidations = database.partitions.values.filter {
        partitions.contains(ObjectIdentifier($0))
      }.map { Invalidation(prefix: all, partition: $0) }
    }
    for slot in slots { self.write(slot, in: invalidation.partition) }
    // Where it cannot be written, it is tried again with everything else.
    self.run { try? $0.commitAll() }
  }

  /// The invalidation that is written next, before any change.
  var firstInvalidation: Invalidation? { self.guarded.withLock { $0.invalidations.first } }

  /// Forgets an invalidation that was written.
  func remove(_ invalidation: Invalidation) {
    self.guarded.withLock { $0.invalidations.removeAll { $0 === invalidation } }
  }

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

  /// The partitions that are open.
  var partitions: [CachePartition] {
    self.guarded.withLock { Array($0.partitions.values) }
  }
}

// MARK: - The writing thread

extension CacheDatabase {
  fileprivate func start() throws {
    try self.writer.start(for: self)
    self.end.enter()
    // Until the thread has ended, also where the last storage is gone before.
    let exitToken = ExitFlush.register { self.stopAtExit() }
    let thread = Thread { [self] in
      self.loop()
      self.didEnd()
      self.end.leave()
      ExitFlush.unregister(exitToken)
    }
    thread.name = "query-cache"
    thread.stackSize = 1 << 20
    thread.start()
  }

  private func loop() {
    var workDue = SuspendingClock.now
    while true {
      let (jobs, isStopping) = self.guarded.withLock { database in
        defer { database.jobs = [] }
        return (database.jobs, database.isStopping)
      }
      for job in jobs { job(self.writer) }
      if isStopping {
        if jobs.isEmpty { break }
        // The files are closed by now, and stay so.
        continue
      }
      // Who has asked for something often asks again at once, and to be woken takes longer than to do it.
      // What nobody waits for comes after that, but not too late.
      if !jobs.isEmpty, .now < workDue, self.hasMore(within: .microseconds(50)) { continue }
      workDue = .now + .milliseconds(10)
      let due = self.writer.work(queuedSince: self.guarded.withLock { $0.firstQueuedAt })
      let mustGoOn = self.guarded.withLock { !$0.jobs.isEmpty || $0.isStopping }
      if mustGoOn { continue }
      self.signal.wait(until: due, or: self.writer.watchDescriptor)
    }
    self.writer.stop()
  }

  /// Waits a moment for a job, without sleeping.
  ///
  /// - Returns: Whether there is one, or a change to be written.
  private func hasMore(within duration: Duration) -> Bool {
    self.guarded.withLock { $0.isSpinning = true }
    let end = SuspendingClock.now + duration
    while .now < end, self.guarded.withLock({ $0.jobs.isEmpty }) { sched_yield() }
    // Under the lock: who comes from here on wakes this thread.
    return self.guarded.withLock { database in
      database.isSpinning = false
      return !database.jobs.isEmpty || !database.queue.isEmpty || database.isStopping
    }
  }

  /// Stops the thread when it has written what is left.
  ///
  /// - Parameter completion: Is told of what could not be written.
  fileprivate func stop(completion: (@Sendable (Result<Void, any Error>) -> Void)?) {
    let isFirst = self.guarded.withLock { database in
      if database.isStopping { return false }
      database.jobs.append { writer in
        let result = Result { try writer.finish() }
        // What waits for the end may open the file again at once.
        writer.stop()
        completion?(result)
      }
      database.isStopping = true
      return true
    }
    if !isFirst { completion?(.success(())) }
    self.signal.wake()
  }

  /// Writes what is left when the program ends, on whichever thread it does.
  fileprivate func stopAtExit() {
    if Thread.current.name == "query-cache" {
      try? self.writer.finish()
      return
    }
    self.stop(completion: nil)
    self.end.wait()
  }
}

// MARK: - One for each folder

extension CacheDatabase {
  /// What tells folders apart: links and relative names of one are one.
  private struct Key: Hashable {
    let device: UInt
    let inode: UInt
    /// Of a folder that cannot be made.
    let path: String?
  }

  private final class Open: Sendable {
    let database: CacheDatabase
    let holders = Locked(1)

    init(_ database: CacheDatabase) { self.database = database }
  }

  // Held while a file is opened, so that two storages on one folder share it.
  private static let opening = NSLock()
  private static let open = Locked([Key: Open]())
  /// Those whose last storage is gone, while their threads write what is left.
  private static let ending = Locked([Key: CacheDatabase]())

  /// The database of a folder, and in it a partition, for one storage. ``release(_:completion:)`` ends
  /// its use.
  ///
  /// - Throws: `StorageError` for what a person must mend.
  static func open(
    folder: String,
    partition name: String,
    _ configuration: SQLiteQueryStorage.Configuration
  ) throws -> (CacheDatabase, CachePartition) {
    // Made here, so that it has a device and an inode; where it cannot be, opening says so.
    try? DatabaseFiles().makeFolder(folder)
    let key = self.key(of: folder)
    self.waitForEnd(of: key)
    self.opening.lock()
    defer { self.opening.unlock() }
    let limits = CacheLimits(
      entries: configuration.maximumEntries, bytes: configuration.maximumBytes)
    if let open = self.open.withLock({ $0[key] }) {
      let (partition, isNew) = open.database.partition(name, limits)
      open.holders.withLock { $0 += 1 }
      // A storage that comes later waits for nothing: until its partition is known, it reads later.
      if isNew { open.database.run { $0.prepare([partition]) } }
      return (open.database, partition)
    }
    let database = try CacheDatabase(folder: folder, configuration)
    let (partition, _) = database.partition(name, limits)
    try database.start()
    self.open.withLock { $0[key] = Open(database) }
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
  ///   - completion: Is told when what was handed over is written.
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
      Self.ending.withLock { $0[found.key] = self }
      self.stop(completion: completion)
      return
    }
    let isTaken = self.run { writer in
      let result = Result { try writer.commitAll() }
      // What still waits has to find its account in whatever file is opened next.
      if isUnused, case .success = result { self.forget(partition) }
      completion?(result)
    }
    if !isTaken { completion?(.success(())) }
  }

  /// Lets the one before on a folder end, so that what it has left to write is seen, and does not come
  /// after what is newer. A second at most: that is how long opening may wait.
  private static func waitForEnd(of key: Key) {
    _ = self.ending.withLock { $0[key] }?.end.wait(timeout: .now() + 1)
  }

  private func didEnd() {
    let old = Self.ending.withLock { ending in
      let key = ending.first { $0.value === self }?.key
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

  private static func key(of folder: String) -> Key {
    var status = stat()
    guard stat(folder, &status) == 0 else { return Key(device: 0, inode: 0, path: folder) }
    return Key(device: UInt(status.st_dev), inode: UInt(status.st_ino), path: nil)
  }
}

extension DatabaseOpener {
  /// The opener of a cache by a configuration.
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
