import Foundation
import Query

/// What the writing thread of a ``CacheDatabase`` does: it opens, writes, evicts, checkpoints, watches
/// other processes, and mends.
///
/// Not `Sendable`, and not locked: one thread at a time uses it.
final class CacheWriter {
  /// How many changes are written in one transaction at most.
  static let maximumBatch = 1_000

  /// How many bytes of values are written in one transaction, about.
  static let maximumBatchBytes = 4 << 20

  let opener: DatabaseOpener
  let configuration: SQLiteQueryStorage.Configuration
  let fileLock: FileLock
  let kick: ChangeKick

  /// Codes changes while others are written.
  let coding = DispatchQueue(label: "query-cache-coding")

  /// Whose thread this is. Set once, before anything else.
  unowned var database: CacheDatabase!

  /// The connection; nil while the file cannot be used.
  var connection: SQLiteConnection?

  /// What tells of other processes; nil where the system has none to give.
  var watch: ChangeWatch?

  /// The revisions that this process wrote and has not seen in a look for others' yet.
  var ownRevisions = [String: [ClosedRange<Int64>]]()

  /// Up to which revision of each partition others' changes are known.
  var seenRevisions = [String: Int64]()

  /// Which file was open last.
  var lastFile: FileNumber?

  /// The file that turned out to be damaged, which is to be set aside whatever opening says.
  var damaged: (file: FileNumber, error: StorageError)?

  /// The file that was said to be damaged, and was looked at a second time.
  var suspected: FileNumber?

  /// When to try again to write, where it failed, and how long after that.
  var retry: (at: SuspendingClock.Instant, delay: Duration)?

  /// When the uses of entries are written down, where there were any.
  var usesDue: SuspendingClock.Instant?

  /// When the log is copied into the file.
  var checkpoints: CheckpointSchedule

  /// When `data_version` is asked, where there is no watch.
  var pollDue = SuspendingClock.now
  var lastDataVersion: Int64 = 0

  /// Whether something was committed that other processes were not told of yet.
  var mustKick = false

  /// When it was last made sure that the lock is on the file at its path.
  var lockCheckedAt: SuspendingClock.Instant?

  /// When others are looked for next: their kicks, and this process's own, are not answered one by one.
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

  /// What gives a file another name that cannot be used.
  var files: SetAside { SetAside(kind: .cache, folder: self.opener.folder) }

  /// What tells of others, where it is time to look.
  var watchDescriptor: Int32? {
    .now >= self.lookDue ? self.watch?.descriptor : nil
  }
}

// MARK: - Life

extension CacheWriter {
  /// Opens the file for the first time, on the thread that creates the storage.
  ///
  /// - Throws: `StorageError` for what a person must mend; anything else is tried again later.
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

  /// Does what is due, and tells when the next thing is.
  ///
  /// - Parameter queuedSince: Since when a change waits.
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
      // On the way the changes are weighed, which are coded by the one who writes them alone.
      let step = min(max(self.configuration.writeDelay / 4, .milliseconds(10)), .seconds(1))
      times.append(min(due, .now + step))
    }
    if self.watch != nil, .now < self.lookDue { times.append(self.lookDue) }
    if self.watch == nil, self.connection != nil { times.append(self.pollDue) }
    return times.compactMap { $0 }.min()
  }

  /// Writes what is left, when nothing more will come.
  ///
  /// - Throws: `StorageError` where not all could be written.
  func finish() throws {
    defer { self.tellOthers() }
    try self.commitAll()
    self.writeUses()
  }

  /// Closes the files. The last connection of all processes copies the log.
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
