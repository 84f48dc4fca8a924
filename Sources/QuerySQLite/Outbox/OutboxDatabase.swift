import Foundation
import Query

/// `mutations.sqlite` of one folder, as all storages of this process share it.
///
/// Threads: reads go through ``readers`` on whatever thread asks. One thread of this object's own does
/// all the rest, with an ``OutboxWriter`` that nobody else touches. It is started by the first who
/// needs it, so that a program without mutations pays for none of this.
///
/// What is guarded, and by what: `guarded` by its own lock, under which nothing is called.
// @unchecked: `writer` is used by the thread of this object alone; the rest is Sendable.
final class OutboxDatabase: @unchecked Sendable {
  let configuration: SQLiteQueryStorage.Configuration

  /// The connections that read.
  let readers: ReaderPool

  /// Which file the writer has open; nil while none is.
  let fileNumber = Locked<FileNumber?>(nil)

  /// Where the file is.
  let path: String

  let writer: OutboxWriter
  let guarded: Locked<Guarded>

  /// That of jobs and tasks.
  let waitingCount = WaitingCount()

  let signal: WakeSignal
  let opening = DispatchGroup()
  let end = DispatchGroup()

  struct Guarded {
    var partitions = [String: OutboxPartition]()
    var jobs = [OutboxJob]() { didSet { self.count() } }
    var tasks = [@Sendable (OutboxWriter) -> Void]() { didSet { self.count() } }
    fileprivate let waitingCount: WaitingCount
    /// How many callers wait for a job.
    var waiting = 0
    var isStarted = false
    var isStopping = false
    /// Whether the writing thread looks for jobs all the time, so that it need not be woken.
    var isSpinning = false
    var degradation: StorageError?
    /// A mean of what commits have taken, the last ones first.
    var commitTime = Duration.zero
    var commits = 0
    var bytesWritten = 0

    fileprivate init(_ waitingCount: WaitingCount) { self.waitingCount = waitingCount }

    private func count() { self.waitingCount.value = self.jobs.count + self.tasks.count }
  }

  init(folder: String, _ configuration: SQLiteQueryStorage.Configuration) throws {
    self.configuration = configuration
    self.signal = try WakeSignal()
    self.guarded = Locked(Guarded(self.waitingCount))
    let opener = DatabaseOpener(outboxIn: folder, configuration)
    self.path = opener.path
    self.readers = ReaderPool(capacity: max(configuration.readConnections, 1)) { [fileNumber] in
      let connection = try opener.openReader(acceptsNewer: true)
      let isSame = fileNumber.withLock { $0 } == FileNumber(path: opener.path)
      if try isSame && !connection.hasMoved { return connection }
      try? connection.close()
      throw StorageError(
        operation: "open", code: .moved, message: "the file was replaced",
        fileName: DatabaseKind.mutations.fileName)
    }
    // Nothing is read before the file is open.
    self.readers.suspend()
    self.writer = OutboxWriter(opener: opener, configuration: configuration)
  }

  static let closed = StorageError(
    operation: "use the outbox", code: .misuse, message: "the storage is closed",
    fileName: DatabaseKind.mutations.fileName)

  /// Why nothing can be written, while that is so.
  var degradation: StorageError? {
    get { self.guarded.withLock { $0.degradation } }
    set { self.guarded.withLock { $0.degradation = newValue } }
  }

  /// How many transactions this process has committed that changed something, and how many bytes were
  /// appended to the log.
  var commits: Int { self.guarded.withLock { $0.commits } }
  var bytesWritten: Int { self.guarded.withLock { $0.bytesWritten } }

  func countCommit() { self.guarded.withLock { $0.commits += 1 } }

  func count(bytesWritten: Int) { self.guarded.withLock { $0.bytesWritten += bytesWritten } }

  /// The partitions that are open.
  var partitions: [OutboxPartition] { self.guarded.withLock { Array($0.partitions.values) } }
}

// MARK: - Handing over

extension OutboxDatabase {
  /// Changes a partition, in a transaction that may have others' changes in it too.
  ///
  /// - Parameters:
  ///   - partition: The partition.
  ///   - needsOwner: Whether it may lease a row.
  ///   - body: Changes the tables; it may run again where a transaction was undone.
  /// - Returns: What the closure returned, when that is committed.
  /// - Throws: What the closure throws; `StorageError`.
  func write<Value: Sendable>(
    in partition: OutboxPartition,
    needsOwner: Bool = false,
    _ body: @escaping @Sendable (inout OutboxTransaction) throws -> Value
  ) async throws -> Value {
    let outcome = JobOutcome<Value>()
    let result = Locked<Value?>(nil)
    let job = OutboxJob(partition: partition, needsOwner: needsOwner) { changes in
      let value = try body(&changes)
      result.withLock { $0 = value }
    } completion: { error in
      if let error { return outcome.set(.failure(error)) }
      if let value = result.withLock({ $0 }) { outcome.set(.success(value)) }
    }
    guard let waiting = self.add(job) else { throw Self.closed }
    defer { self.guarded.withLock { $0.waiting -= 1 } }
    // Where others wait too, they want the thread, so that their jobs are in the same commit.
    return try await outcome.value(patience: waiting == 1 ? self.patience : .zero)
  }

  /// How long one who waits alone does so without suspending its task: as long as commits have taken
  /// lately, where that is not much longer than to wake it.
  private var patience: Duration {
    let commitTime = self.guarded.withLock { $0.commitTime }
    return commitTime > .microseconds(400) ? .zero : max(commitTime * 2, .microseconds(60))
  }

  /// Takes note of how long a commit has taken.
  func didCommit(in time: Duration) {
    self.guarded.withLock { $0.commitTime = ($0.commitTime * 3 + time) / 4 }
  }

  /// - Returns: How many wait; nil where this is closed.
  private func add(_ job: OutboxJob) -> Int? {
    self.start()
    let (waiting, mustWake) = self.guarded.withLock { database -> (Int?, Bool) in
      if database.isStopping { return (nil, false) }
      database.jobs.append(job)
      database.waiting += 1
      return (database.waiting, !database.isSpinning)
    }
    if mustWake { self.signal.wake() }
    return waiting
  }

  /// Lets the writing thread do something that is no transaction.
  ///
  /// - Returns: Whether it will. Not when it has stopped.
  @discardableResult
  func perform(_ task: @escaping @Sendable (OutboxWriter) -> Void) -> Bool {
    let (isTaken, mustWake) = self.guarded.withLock { database -> (Bool, Bool) in
      if database.isStopping { return (false, false) }
      database.tasks.append(task)
      return (true, database.isStarted && !database.isSpinning)
    }
    if mustWake { self.signal.wake() }
    return isTaken
  }

  /// Removes what a partition has. Where there is no file, there is nothing. What waits to be salvaged is
  /// salvaged before, so that other partitions keep theirs.
  ///
  /// - Throws: `StorageError`.
  func erase(_ partition: OutboxPartition) async throws {
    if !self.guarded.withLock({ $0.isStarted }), self.hasNothing {
      let folder = (self.path as NSString).deletingLastPathComponent
      return try SetAside(kind: .mutations, folder: folder).removeAll()
    }
    self.start()
    let outcome = JobOutcome<Void>()
    let isTaken = self.perform { writer in
      outcome.set(Result { try writer.erase(partition) })
    }
    guard isTaken else { throw Self.closed }
    try await outcome.value(patience: .zero)
  }
}
