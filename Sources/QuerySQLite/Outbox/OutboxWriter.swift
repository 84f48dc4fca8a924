import FoundationEssentials
import Query

/// The work of an ``OutboxDatabase``'s writing thread: it opens, commits jobs, keeps leases alive,
/// checkpoints, watches other processes, and repairs.
///
/// Not `Sendable`, and not locked: one thread at a time uses it, see ``WritingThread/ifIdle(_:)``.
final class OutboxWriter: DatabaseWriter {
  let configuration: SQLiteStorageConfiguration
  let file: FileKeeper
  let neighbours: Neighbours
  let reaper: OutboxReaper
  let bodies: BodyFolder

  /// The database of this thread. Set once, before anything else.
  unowned var database: OutboxDatabase!

  /// The connection; nil while the file cannot be used.
  var connection: SQLiteConnection? { didSet { self.memories = OutboxMemories() } }

  /// The memories of the last transactions.
  var memories = OutboxMemories()

  /// How many of the connection's pages have been counted.
  var countedPages = 0

  /// How many were counted when the writer last checked whether the file has room for more.
  var lookedForRoomAtPages: Int?

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

  /// The effects that are on their way to the cache, and those that it has.
  var effectsInFlight = Set<StoredEffects>()
  var effectsDone = [StoredEffects]()
  var effectsDue: SuspendingClock.Instant?

  /// Work left for separate transactions, which no caller waits for.
  var chores = OutboxChores()

  /// When to look for what other processes have left over.
  var leftovers = LeftoverLooks()

  /// When rows of partitions grow too old.
  var expiries = [String: SuspendingClock.Instant]()

  /// How many rows of partitions have grown too old since the last claim.
  var expiredCounts = [String: Int]()

  /// When the age of rows of earlier boots is to be checked.
  var olderExpiries = [String: SuspendingClock.Instant]()

  /// When the age of a partition's history was last checked, microseconds since 1970.
  var historyAgeSeenAt = [String: Int64]()

  /// The latest wall time that was known to be right, as stored on disk.
  var synchronisedAt: Int64?

  /// Checkpoints the WAL.
  var log: LogKeeper

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

  init(opener: DatabaseOpener, configuration: SQLiteStorageConfiguration) {
    self.configuration = configuration
    self.heartbeatInterval = configuration.leaseLength / 3
    self.file = FileKeeper(opener)
    self.neighbours = Neighbours(kind: .mutations, folder: opener.folder)
    self.reaper = OutboxReaper(folder: opener.folder)
    self.bodies = BodyFolder(besideOutboxIn: opener.folder)
    self.log = LogKeeper(
      kind: .mutations, folder: opener.folder, frameLimit: configuration.checkpointFrames)
  }

  var health: WriteHealth { self.database.health }

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

  func work() {
    let now = SuspendingClock.now
    if let due = self.database.health.due, now >= due { self.recover() }
    if let due = self.heartbeatDue, now >= due { self.beat() }
    if let due = self.effectsDue, now >= due { self.clearEffects() }
    self.keepLog { try $0.checkpointIfDue(self.connection, now) }
    self.expire(now)
    if self.chores.isDue(now) { self.doChore() }
    if let due = self.leftovers.due, now >= due { self.lookForLeftovers(now) }
    self.neighbours.notify()
    self.lookForOthers(now)
  }

  var nextDue: SuspendingClock.Instant? {
    var first: SuspendingClock.Instant?
    func note(_ time: SuspendingClock.Instant?) {
      guard let time else { return }
      first = first.map { min($0, time) } ?? time
    }
    note(self.database.health.due)
    note(self.chores.due)
    note(self.leftovers.due)
    note(self.heartbeatDue)
    note(self.effectsDue)
    note(self.log.due)
    note(self.neighbours.due)
    if !self.expiries.isEmpty { for time in self.expiries.values { note(time) } }
    if !self.olderExpiries.isEmpty { for time in self.olderExpiries.values { note(time) } }
    return first
  }

  /// Gives back the rows that this process runs, when no more jobs will come.
  ///
  /// - Throws: `StorageError` if that could not be written: then other processes see it by the
  ///   lock.
  func finish() throws {
    defer { self.neighbours.notify() }
    do {
      try self.giveBackLeases()
    } catch {
      throw Self.storageError(error)
    }
    self.clearEffects()
    self.emptyLog()
  }

  func stop() {
    self.database.readers.close()
    self.loseLeases { _ in true }
    try? self.connection?.close()
    self.connection = nil
    self.neighbours.letGo()
    self.owner?.remove()
    self.owner = nil
    self.file.letGo()
  }
}
