import Foundation
import Query

/// What the writing thread of an ``OutboxDatabase`` does: it opens, commits jobs, keeps leases alive,
/// checkpoints, watches other processes, and mends.
///
/// Not `Sendable`, and not locked: one thread at a time uses it.
final class OutboxWriter {
  let opener: DatabaseOpener
  let configuration: SQLiteQueryStorage.Configuration
  let fileLock: FileLock
  let kick: ChangeKick
  let reaper: OutboxReaper
  let bodies: BodyFiles

  /// Whose thread this is. Set once, before anything else.
  unowned var database: OutboxDatabase!

  /// The connection; nil while the file cannot be used.
  var connection: SQLiteConnection? {
    didSet {
      self.memories = OutboxMemories()
      (self.place, self.pathCheckedAt) = (nil, nil)
    }
  }

  /// Where the file is, and when the whole path was looked at last.
  var place: FilePlace?
  var pathCheckedAt: SuspendingClock.Instant?

  /// What the last transactions have left behind.
  var memories = OutboxMemories()

  /// How many pages of the connection's are counted.
  var countedPages = 0

  /// How many were counted when the writer looked last whether the file has room for others.
  var lookedForRoomAtPages: Int?

  /// What tells of other processes; nil where the system has none to give.
  var watch: ChangeWatch?

  /// This process's lock file; nil until it leases something.
  var owner: OwnerFile?
  var isOwnerRecorded = false

  /// What this process runs, by number.
  var leases = [Int64: HeldLease]()

  /// Leases that are to be revoked, off every lock, when who waits has been told.
  var revocations = [(lease: MutationLease, revocation: MutationLease.Revocation)]()

  /// How often leases are extended.
  let heartbeatInterval: Duration

  /// When the leases are extended next, while there are any.
  var heartbeatDue: SuspendingClock.Instant?

  /// What is known of partitions: a commit that this process has not made is another one's.
  var known = [String: KnownPartition]()

  /// Rows of the history whose effects the cache is being told of, and those it has been told of.
  var effectsInFlight = Set<Int64>()
  var effectsDone = [Int64]()
  var effectsDue: SuspendingClock.Instant?

  /// What is left to do in transactions of their own, which nobody waits for.
  var chores = OutboxChores()

  /// When the age of a partition's history was looked at last, microseconds since 1970.
  var historyAgeSeenAt = [String: Int64]()

  /// The latest wall time that was known to be right, as it is on disk.
  var synchronisedAt: Int64?

  /// The file that turned out to be damaged.
  var damaged: (file: FileNumber, error: StorageError)?

  /// The file that was said to be damaged, and was looked at a second time.
  var suspected: FileNumber?

  /// When to try again what failed, and how long after that.
  var retry: (at: SuspendingClock.Instant, delay: Duration)?

  /// When the log is copied into the file.
  var checkpoints: CheckpointSchedule

  /// Whether something was committed that other processes were not told of yet.
  var mustKick = false

  /// When others are looked for next: kicks are not answered one by one.
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

  /// What this process has last seen of a partition's row.
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

  /// What tells of others, where it is time to look.
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

  /// Does what is due, and tells when the next thing is.
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

  /// Gives back what this process runs, when nothing more will come.
  ///
  /// - Throws: `StorageError` where that could not be written: then others find it by the lock.
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
