import Foundation
import Query

/// The work of a ``CacheDatabase``'s writing thread: it opens, writes, evicts, checkpoints, watches
/// other processes, and repairs.
///
/// Not `Sendable`, and not locked: one thread at a time uses it.
final class CacheWriter {
  /// The maximum number of changes in one transaction.
  static let maximumBatch = 1_000

  /// The approximate number of bytes of values in one transaction.
  static let maximumBatchBytes = 4 << 20

  let opener: DatabaseOpener
  let configuration: SQLiteQueryStorage.Configuration
  let fileLock: FileLock
  let kick: ChangeKick

  /// Encodes changes while others are written.
  let coding = DispatchQueue(label: "query-cache-coding")

  /// The database of this thread. Set once, before anything else.
  unowned var database: CacheDatabase!

  /// The connection; nil while the file cannot be used.
  var connection: SQLiteConnection?

  /// Reports commits of other processes; nil if the system has no watch left.
  var watch: ChangeWatch?

  /// The revisions that this process wrote and has not yet seen when looking for those of others.
  var ownRevisions = [String: [ClosedRange<Int64>]]()

  /// The last revision of each partition up to which others' changes are known.
  var seenRevisions = [String: Int64]()

  /// The file that was open last.
  var lastFile: FileNumber?

  /// The file that was found damaged, and is set aside whatever opening reports.
  var damaged: (file: FileNumber, error: StorageError)?

  /// The file that was reported as damaged once, and was checked a second time.
  var suspected: FileNumber?

  /// When to retry a failed write, and the delay after that.
  var retry: (at: SuspendingClock.Instant, delay: Duration)?

  /// When the uses of entries are recorded, if there are any.
  var usesDue: SuspendingClock.Instant?

  /// When the WAL is checkpointed.
  var checkpoints: CheckpointSchedule

  /// When `data_version` is read, if there is no watch.
  var pollDue = SuspendingClock.now
  var lastDataVersion: Int64 = 0

  /// Whether there is a commit of which other processes have not been notified.
  var mustKick = false

  /// When the lock was last checked to be on the file at its path.
  var lockCheckedAt: SuspendingClock.Instant?

  /// When to look for others' commits next: kicks, which include this process's own, are not
  /// answered one by one.
  var lookDue = SuspendingClock.now

  init(opener: DatabaseOpener, configuration: SQLiteQueryStorage.Configuration) {
    self.opener = opener
    self.configuration = configuration
    self.fileLock = FileLock(kind: .cache, folder: opener.folder)
    self.kick = ChangeKick(kind: .cache, folder: opener.folder)
    self.checkpoints = CheckpointSchedule(
      frameLimit: configuration.checkpointFrames,
      CheckpointPause(kind: .cache, folder: opener.folder))
  }

  /// Renames a file that cannot be used.
  var files: SetAside { SetAside(kind: .cache, folder: self.opener.folder) }

  /// The watch's descriptor, if it is time to look for others' commits.
  var watchDescriptor: Int32? {
    .now >= self.lookDue ? self.watch?.descriptor : nil
  }
}

// MARK: - Life

extension CacheWriter {
  /// Opens the file for the first time, on the thread that creates the storage.
  ///
  /// - Throws: `StorageError` for a fault that the user must mend; anything else is retried later.
  func start(for database: CacheDatabase) throws {
    self.database = database
    do {
      try self.open()
    } catch let failure as OpeningFailure where failure.kind == .refused {
      throw failure.error
    } catch {
      self.degrade(StorageError(any: error, operation: "open"))
    }
  }

  /// Does the due work, and returns when the next is due.
  ///
  /// - Parameter queuedSince: Since when a change has been pending.
  func work(queuedSince: SuspendingClock.Instant?) -> SuspendingClock.Instant? {
    let now = SuspendingClock.now
    if let retry = self.retry {
      if now >= retry.at {
        self.recover()
      } else if self.database.isBacklogLong {
        self.trimBacklog()
      }
    } else {
      if let queuedSince, self.isDue(queuedSince, now) { try? self.commitAll() }
      self.maintain(now)
    }
    self.tellOthers()
    self.lookForOthers(now)
    return self.nextDue(queuedSince)
  }

  private func isDue(_ queuedSince: SuspendingClock.Instant, _ now: SuspendingClock.Instant) -> Bool
  {
    now >= queuedSince + self.configuration.writeDelay
      || self.database.queuedCount >= Self.maximumBatch
      || self.database.queuedBytes >= Self.maximumBatchBytes
  }

  private func nextDue(_ queuedSince: SuspendingClock.Instant?) -> SuspendingClock.Instant? {
    var times = [self.usesDue, self.checkpoints.due]
    if let retry = self.retry {
      times = [retry.at]
    } else if self.database.queuedCount > 0 {
      let due = (queuedSince ?? .now) + self.configuration.writeDelay
      // Meanwhile the bytes of changes are counted; only this thread encodes them.
      let step = min(max(self.configuration.writeDelay / 4, .milliseconds(10)), .seconds(1))
      times.append(min(due, .now + step))
    }
    if self.watch != nil, .now < self.lookDue { times.append(self.lookDue) }
    if self.watch == nil, self.connection != nil { times.append(self.pollDue) }
    return times.compactMap { $0 }.min()
  }

  /// Writes the remaining changes, when no more will come.
  ///
  /// - Throws: `StorageError` if not all could be written.
  func finish() throws {
    defer { self.tellOthers() }
    try self.commitAll()
    self.writeUses()
  }

  /// Closes the files. The last connection of all processes checkpoints the WAL.
  func stop() {
    self.database.readers.close()
    self.closeConnection()
    self.watch = nil
    self.fileLock.letGo()
    self.kick.letGo()
  }

  func closeConnection() {
    try? self.connection?.close()
    self.connection = nil
  }
}
