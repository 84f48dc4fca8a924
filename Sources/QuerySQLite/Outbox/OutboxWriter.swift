import Foundation
import Query

/// The work of an ``OutboxDatabase``'s writing thread: it opens, commits jobs, keeps leases alive,
/// checkpoints, watches other processes, and repairs.
///
/// Not `Sendable`, and not locked: one thread at a time uses it.
final class OutboxWriter {
  let opener: DatabaseOpener
  let configuration: SQLiteQueryStorage.Configuration
  let fileLock: FileLock
  let kick: ChangeKick
  let reaper: OutboxReaper
  let bodies: BodyFiles

  /// The database of this thread. Set once, before anything else.
  unowned var database: OutboxDatabase!

  /// The connection; nil while the file cannot be used.
  var connection: SQLiteConnection? {
    didSet {
      self.memories = OutboxMemories()
      (self.place, self.pathCheckedAt) = (nil, nil)
    }
  }

  /// The place of the file, and when the whole path was last checked.
  var place: FilePlace?
  var pathCheckedAt: SuspendingClock.Instant?

  /// The memories of the last transactions.
  var memories = OutboxMemories()

  /// How many of the connection's pages have been counted.
  var countedPages = 0

  /// How many were counted when the writer last checked whether the file has room for more.
  var lookedForRoomAtPages: Int?

  /// Reports commits of other processes; nil if the system has no watch left.
  var watch: ChangeWatch?

  /// This process's lock file; nil until it leases something.
  var owner: OwnerFile?
  var isOwnerRecorded = false

  /// The rows that this process runs, by number.
  var leases = [Int64: HeldLease]()

  /// Leases to revoke, outside all locks, after the callers have their results.
  var revocations = [(lease: MutationLease, revocation: MutationLease.Revocation)]()

  /// How often leases are extended.
  let heartbeatInterval: Duration

  /// When the leases are next extended, while there are any.
  var heartbeatDue: SuspendingClock.Instant?

  /// The known state of partitions: a commit that this process has not made is another one's.
  var known = [String: KnownPartition]()

  /// History rows whose effects are on their way to the cache, and those whose effects it has.
  var effectsInFlight = Set<Int64>()
  var effectsDone = [Int64]()
  var effectsDue: SuspendingClock.Instant?

  /// Work left for separate transactions, which no caller waits for.
  var chores = OutboxChores()

  /// When the age of a partition's history was last checked, microseconds since 1970.
  var historyAgeSeenAt = [String: Int64]()

  /// The latest wall time that was known to be right, as stored on disk.
  var synchronisedAt: Int64?

  /// The file that was found damaged.
  var damaged: (file: FileNumber, error: StorageError)?

  /// The file that was reported as damaged once, and was checked a second time.
  var suspected: FileNumber?

  /// When to retry what failed, and the delay after that.
  var retry: (at: SuspendingClock.Instant, delay: Duration)?

  /// When the WAL is checkpointed.
  var checkpoints: CheckpointSchedule

  /// Whether there is a commit of which other processes have not been notified.
  var mustKick = false

  /// When to look for others' commits next: kicks are not answered one by one.
  var lookDue = SuspendingClock.now
  var pollDue = SuspendingClock.now
  var lastDataVersion: Int64 = 0
  var lockCheckedAt: SuspendingClock.Instant?

  /// A lease of this process.
  struct HeldLease {
    let leased: OutboxTransaction.LeasedRow
    let partition: OutboxPartition

    var lease: MutationLease { self.leased.lease }
  }

  /// The last known state of a partition's row.
  struct KnownPartition {
    var revision: Int64
    var epoch: Int64
  }

  init(opener: DatabaseOpener, configuration: SQLiteQueryStorage.Configuration) {
    self.opener = opener
    self.configuration = configuration
    self.heartbeatInterval = configuration.leaseLength / 3
    self.fileLock = FileLock(kind: .mutations, folder: opener.folder)
    self.kick = ChangeKick(kind: .mutations, folder: opener.folder)
    self.reaper = OutboxReaper(folder: opener.folder)
    self.bodies = BodyFiles(folder: opener.folder)
    self.checkpoints = CheckpointSchedule(
      frameLimit: configuration.checkpointFrames,
      CheckpointPause(kind: .mutations, folder: opener.folder))
  }

  /// The watch's descriptor, if it is time to look for others' commits.
  var watchDescriptor: Int32? { .now >= self.lookDue ? self.watch?.descriptor : nil }

  var now: OutboxTime { self.configuration.outboxClock.now() }

  static func storageError(_ error: any Error) -> StorageError {
    StorageError(any: error, operation: "write")
  }
}

// MARK: - Life

extension OutboxWriter {
  /// Opens the file for the first time.
  func start(for database: OutboxDatabase) {
    self.database = database
    do {
      try self.open()
    } catch {
      self.degrade(Self.storageError(error))
    }
  }

  /// Does the due work, and returns when the next is due.
  func work() -> SuspendingClock.Instant? {
    let now = SuspendingClock.now
    if let retry = self.retry, now >= retry.at { self.recover() }
    if let due = self.heartbeatDue, now >= due { self.beat() }
    if let due = self.effectsDue, now >= due { self.clearEffects() }
    if self.checkpoints.isDue(now), let connection = self.connection {
      self.checkpoint(connection)
    }
    if self.chores.isDue(now) { self.doChore() }
    self.tellOthers()
    self.lookForOthers(now)
    var times = [
      self.retry?.at, self.chores.due, self.heartbeatDue, self.effectsDue, self.checkpoints.due,
    ]
    if self.watch != nil, .now < self.lookDue { times.append(self.lookDue) }
    if self.watch == nil, self.connection != nil { times.append(self.pollDue) }
    return times.compactMap { $0 }.min()
  }

  /// Gives back the rows that this process runs, when no more jobs will come.
  ///
  /// - Throws: `StorageError` if that could not be written: then other processes see it by the
  ///   lock.
  func finish() throws {
    defer { self.tellOthers() }
    do {
      try self.giveBackLeases()
    } catch {
      throw Self.storageError(error)
    }
    self.clearEffects()
    self.emptyLog()
  }

  /// Closes the files.
  func stop() {
    self.database.readers.close()
    self.loseLeases { _ in true }
    try? self.connection?.close()
    self.connection = nil
    self.watch = nil
    self.owner?.remove()
    self.owner = nil
    self.fileLock.letGo()
    self.kick.letGo()
  }
}
