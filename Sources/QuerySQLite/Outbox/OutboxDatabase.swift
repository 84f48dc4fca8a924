import FoundationEssentials
import Query

/// `mutations.sqlite` of one folder, as all storages of this process share it.
///
/// Threads: reads go through ``readers`` on the calling thread. A commit is made by the caller that
/// needs it, if nothing else is under way; all the rest is done by one thread of this object's own,
/// with an ``OutboxWriter`` that one thread at a time uses. The first caller that needs the thread
/// starts it, so that a program without mutations pays for none of this.
///
/// Locking: `guarded` has its own lock, under which nothing is called.
final class OutboxDatabase: Sendable {
  let configuration: SQLiteStorageConfiguration

  /// The connections that read.
  let readers: ReaderPool

  /// The file that the writer has open; nil while there is none.
  let fileNumber = Locked<FileNumber?>(nil)

  /// The path of the file.
  let path: String

  let thread: WritingThread<OutboxWriter, OutboxWriter.Job>

  /// The files that go with mutations.
  let bodies: BodyFolder

  /// Whether the file can be written.
  let health: WriteHealth

  let guarded = Locked(Guarded())

  /// The accounts that storages have open.
  let openPartitions = OpenPartitions<OutboxPartition>()

  struct Guarded {
    /// A moving average of commit times, in microseconds.
    var commitTime: Int64 = 0
    var commits = 0
    var bytesWritten = 0
  }

  init(folder: String, _ configuration: SQLiteStorageConfiguration) throws {
    self.configuration = configuration
    self.health = WriteHealth(firstDelay: configuration.retryDelay) { [openPartitions] event in
      for partition in openPartitions.all { partition.hooks?.tell(event) }
    }
    let opener = DatabaseOpener(.mutations, in: folder, configuration)
    self.path = opener.path
    self.bodies = BodyFolder(besideOutboxIn: folder)
    self.readers = ReaderPool(.mutations, of: self.fileNumber, configuration) {
      try opener.openReader(acceptsNewer: true)
    }
    var writing = opener
    // A job waits for the file as it does for any other lock. The thread that makes a storage does
    // not open it.
    writing.patience = configuration.busyTimeout
    self.thread = try WritingThread(
      name: "query-outbox", OutboxWriter(opener: writing, configuration: configuration))
  }

  static let closed = StorageError(
    operation: "use the outbox", code: .misuse, message: "the storage is closed",
    fileName: DatabaseKind.mutations.fileName)

  /// How many transactions with changes this process has committed, and how many bytes they
  /// appended to the WAL.
  var commits: Int { self.guarded.withLock { $0.commits } }
  var bytesWritten: Int { self.guarded.withLock { $0.bytesWritten } }

  func countCommit() { self.guarded.withLock { $0.commits += 1 } }

  func count(bytesWritten: Int) { self.guarded.withLock { $0.bytesWritten += bytesWritten } }

  /// The open partitions.
  var partitions: [OutboxPartition] { self.openPartitions.all }
}

// MARK: - Writing

extension OutboxDatabase {
  /// Changes a partition, in a transaction that may include other callers' changes.
  ///
  /// - Parameters:
  ///   - partition: The partition.
  ///   - needsOwner: Whether it may lease a row.
  ///   - body: Changes the tables; it may run again if a transaction was rolled back.
  /// - Returns: What the closure returned, once that is committed.
  /// - Throws: The closure's errors; `StorageError`.
  func write<Value: Sendable>(
    in partition: OutboxPartition,
    needsOwner: Bool = false,
    _ body: @escaping @Sendable (inout OutboxTransaction) throws -> Value
  ) async throws -> Value {
    let outcome = JobOutcome<Value>()
    var job = OutboxJob(partition: partition, needsOwner: needsOwner) { changes in
      outcome.propose(try body(&changes))
    } completion: { error in
      outcome.end(error)
    }
    self.start()
    if !self.thread.ifIdle({ $0.tryRun(&job) }), !self.thread.commit(job) {
      await ExitFlush.untilEnd()
      throw Self.closed
    }
    return try await outcome.value()
  }

  /// Whether a commit usually takes so little time that its caller may do it: it blocks a thread that
  /// other tasks need, too.
  var commitsFast: Bool { self.guarded.withLock { $0.commitTime < 2_000 } }

  /// Records how long a commit took.
  func didCommit(in time: Duration) {
    let time = time.microseconds
    self.guarded.withLock { $0.commitTime = ($0.commitTime * 3 + time) / 4 }
  }

  /// Removes everything of a partition; if there is no file, there is nothing to remove. A pending
  /// salvage runs first, so that other partitions keep their rows.
  ///
  /// - Throws: `StorageError`.
  func erase(_ partition: OutboxPartition) async throws {
    if !self.thread.isStarted, self.hasNothing {
      let folder = FilePath.folder(of: self.path)
      return try SetAside(kind: .mutations, folder: folder).removeAll()
    }
    self.start()
    try await self.thread.value(orThrow: Self.closed) { try $0.erase(partition) }
  }
}

/// A write of one caller, in a transaction that may include other callers' jobs.
struct OutboxJob: Sendable {
  let partition: OutboxPartition

  /// Whether it may lease a row, so that this process needs its lock file.
  let needsOwner: Bool

  /// Changes the tables. Called again if another job's failure rolled the transaction back.
  let body: @Sendable (inout OutboxTransaction) throws -> Void

  /// Since when its caller has waited: waiting for a lock counts from here, whatever this thread
  /// waited for before.
  let since = SuspendingClock.now

  /// The error of an attempt that its caller has just made.
  var failure: (any Error)?

  /// Called when it is committed, or has failed.
  let completion: @Sendable ((any Error)?) -> Void
}
