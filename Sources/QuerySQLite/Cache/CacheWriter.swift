import Dispatch
import FoundationEssentials
import Query

/// The work of a ``CacheDatabase``'s writing thread: it opens, writes, evicts, checkpoints, watches
/// other processes, and repairs.
///
/// Not `Sendable`, and not locked: one thread at a time uses it, see ``WritingThread/ifIdle(_:)``.
final class CacheWriter: DatabaseWriter {
  /// The maximum number of changes in one transaction.
  static let maximumBatch = 1_000

  /// The approximate number of bytes of values in one transaction.
  static let maximumBatchBytes = 4 << 20

  let configuration: SQLiteStorageConfiguration
  let file: FileKeeper
  let neighbours: Neighbours

  /// Encodes changes while others are written.
  let coding = DispatchQueue(label: "query-cache-coding")

  /// The database of this thread. Set once, before anything else.
  unowned var database: CacheDatabase!

  /// The connection; nil while the file cannot be used.
  var connection: SQLiteConnection? {
    didSet {
      self.lastRow = nil
      self.lookedForRoomAtPages = 0
      self.callersFailure = nil
    }
  }

  /// The row of the account that was written last, and the version of the file that has it so.
  var lastRow: (name: String, row: PartitionRow, version: Int64)?

  /// The revisions that this process wrote and has not yet seen when looking for those of others.
  var ownRevisions = [String: [ClosedRange<Int64>]]()

  /// The last revision of each partition up to which others' changes are known.
  var seenRevisions = [String: Int64]()

  /// The file that was open last.
  var lastFile: FileNumber?

  /// Whether that was moved away or removed by a person or a process, and not replaced by the library.
  var isLastFileMoved = false

  /// Why a caller's commit failed on this connection, until the writing thread has handled it.
  var callersFailure: StorageError?

  /// How many changes one transaction writes at most: fewer on a full disk.
  var changesInStep = maximumBatch

  /// How many pages this connection had written when the disk was last asked for its room.
  var lookedForRoomAtPages = 0

  /// Whether anything was committed since uses were last recorded.
  var hasWritten = false

  /// When the uses of entries are recorded, if there are any.
  var usesDue: SuspendingClock.Instant?

  /// How often in a row the uses were due and had to wait for changes.
  var usesPostponed = 0

  /// The evictions that are not at their end, in the order of their next turns.
  var evictions = [PendingEviction]()

  /// The partition whose eviction has left free pages, if there are any.
  var shrinking: CachePartition?

  /// What tells other processes that this one lives, which fetches for packs; nil before it does.
  var packOwner: OwnerFile?

  /// Checkpoints the WAL.
  var log: LogKeeper

  init(opener: DatabaseOpener, configuration: SQLiteStorageConfiguration) {
    self.configuration = configuration
    self.file = FileKeeper(opener)
    self.neighbours = Neighbours(kind: .cache, folder: opener.folder)
    self.log = LogKeeper(
      kind: .cache, folder: opener.folder, frameLimit: configuration.checkpointFrames)
  }

  var health: WriteHealth { self.database.health }
}

// MARK: - Life

extension CacheWriter {
  /// Opens the file for the first time, on the thread that creates the storage.
  ///
  /// - Throws: `StorageError` for a fault that the user must mend; anything else is retried later.
  func start(for database: CacheDatabase) throws {
    self.database = database
    // What comes after this is on the writing thread.
    defer { self.file.opener.patience = self.configuration.busyTimeout }
    do {
      try self.open()
    } catch let failure as OpeningFailure where failure.kind == .refused {
      throw failure.error
    } catch {
      let failure = StorageError(any: error, operation: "open")
      // Other processes are busy with the file. The thread that makes the storage does not wait any
      // longer; the writing thread does, before anything is reported.
      if failure.isOfBusyFile {
        self.database.health.retryAtOnce()
      } else {
        self.degrade(failure)
      }
    }
  }

  /// Changes wait in the queue of the database, not as jobs.
  func run(_ jobs: [Never]) {}

  func work() {
    let now = SuspendingClock.now
    let queuedSince = self.database.queuedSince
    if let due = self.database.health.due {
      if now >= due {
        self.recover()
      } else if self.database.isBacklogLong {
        self.trimBacklog()
      }
    } else {
      if let queuedSince, self.isDue(queuedSince, now) { try? self.commitAll() }
      self.doChores()
      self.maintain(now)
    }
    self.neighbours.notify()
    self.lookForOthers(now)
  }

  /// Whether what waits is to be written now.
  func isDue(_ queuedSince: SuspendingClock.Instant, _ now: SuspendingClock.Instant) -> Bool {
    if now >= queuedSince + self.configuration.writeDelay { return true }
    if self.database.queuedCount >= Self.maximumBatch { return true }
    let isExact = now >= queuedSince + Self.estimatesEnd
    let bytes = isExact ? self.database.queuedBytes : self.database.likelyQueuedBytes
    return bytes >= Self.maximumBatchBytes
  }

  /// Changes that have waited this long are encoded for their size: they may have become much longer than what
  /// was written of their queries last. Before that, most of them change again.
  private static let estimatesEnd = Duration.seconds(1)

  var nextDue: SuspendingClock.Instant? {
    var times = [self.usesDue, self.log.due]
    if let due = self.database.health.due {
      times = [due]
    } else if self.database.queuedCount > 0 {
      let due = (self.database.queuedSince ?? .now) + self.configuration.writeDelay
      times.append(min(due, .now + self.configuration.countingDelay))
    }
    // Other connections try the lock every few milliseconds.
    if self.hasChores, self.database.health.due == nil {
      times.append(.now + LockWait.longestSleep)
    }
    times.append(self.neighbours.due)
    return times.compactMap { $0 }.min()
  }

  func finish() throws {
    defer { self.neighbours.notify() }
    try self.commitAll()
    self.finishChores()
  }

  /// The last connection of all processes checkpoints the WAL.
  func stop() {
    self.database.readers.close()
    self.packOwner?.remove()
    self.packOwner = nil
    self.closeConnection()
    self.neighbours.letGo()
    self.file.letGo()
  }

  func closeConnection() {
    try? self.connection?.close()
    self.connection = nil
  }
}
