import Foundation
import Query
import Synchronization

/// What a ``WritingThread`` asks of the writer that it runs.
protocol ThreadedWriter: AnyObject, SendableMetatype {
  /// What is committed together with others of its kind; `Never` if there is no such thing.
  associatedtype Job: Sendable

  var neighbours: Neighbours { get }

  /// Commits jobs, and calls their completions.
  func run(_ jobs: [Job])

  /// Does what is due, and returns when the next is due; nil: not before something happens.
  func work() -> SuspendingClock.Instant?

  /// Writes what remains, when no more will come.
  ///
  /// - Throws: `StorageError` if not all could be written.
  func finish() throws

  /// Closes the files. May be called again.
  func stop()
}

/// The thread that alone uses the writer of a database. It does tasks and jobs in the order in which
/// they came, and what is due in between.
///
/// Locking: `queue` has its own lock, under which nothing is called.
// @unchecked: the writer is used by the thread that starts this one, before it does so, and by this
// thread from then on.
final class WritingThread<Writer: ThreadedWriter>: @unchecked Sendable {
  /// Something to do on the thread. It handles its own failures.
  typealias Task = @Sendable (Writer) -> Void

  private enum Work {
    case task(Task)
    case job(Writer.Job)
  }

  private struct Queue {
    var work = [Work]()
    var isStarted = false
    var isStopping = false
  }

  let writer: Writer
  private let name: String
  private let signal: WakeSignal
  private let queue = Locked(Queue())
  /// How many tasks and jobs wait. Changed under the lock of the queue; a thread that polls reads this
  /// instead, so as not to block the callers.
  private let waiting = Atomic(0)
  private let spinning = Atomic(false)
  private let begun = DispatchGroup()
  private let end = DispatchGroup()

  /// - Parameters:
  ///   - name: The name of the thread. Each kind of database has its own.
  ///   - writer: The writer.
  /// - Throws: `StorageError` if the process has no descriptor left.
  init(name: String, _ writer: Writer) throws(StorageError) {
    self.name = name
    self.writer = writer
    self.signal = try WakeSignal()
  }
}

// MARK: - Life

extension WritingThread {
  /// Starts the thread, unless it was started or stopped before.
  ///
  /// - Parameters:
  ///   - begin: What it does first.
  ///   - didEnd: Called on the thread when it has ended. Kept until then, with what it refers to.
  func start(_ begin: @escaping Task = { _ in }, didEnd: @escaping @Sendable () -> Void) {
    let isFirst = self.queue.withLock { queue in
      if queue.isStarted || queue.isStopping { return false }
      queue.isStarted = true
      // Under the lock, so that a caller that finds it started waits for the beginning.
      self.begun.enter()
      self.end.enter()
      return true
    }
    guard isFirst else { return }
    let exitToken = ExitFlush.register { self.stopAtExit() }
    let thread = Thread { [self] in
      begin(self.writer)
      self.begun.leave()
      self.loop()
      didEnd()
      self.end.leave()
      ExitFlush.unregister(exitToken)
    }
    thread.name = self.name
    thread.stackSize = 1 << 20
    thread.start()
  }

  var isStarted: Bool { self.queue.withLock { $0.isStarted } }

  var isStopping: Bool { self.queue.withLock { $0.isStopping } }

  /// Waits until a thread that was started has done what it does first.
  func waitUntilBegun(atMost patience: Duration) {
    _ = self.begun.wait(timeout: .now() + patience / .seconds(1))
  }

  /// Waits until a thread that was started has ended.
  func waitUntilEnded(atMost patience: Duration) {
    _ = self.end.wait(timeout: .now() + patience / .seconds(1))
  }

  /// Stops the thread when it has done all tasks and jobs so far, and has written what remains.
  ///
  /// - Parameter completion: Called with the result: the error if something could not be written.
  /// - Returns: Whether this call stops it; false if it was never started, or is stopping.
  @discardableResult
  func stop(completion: (@Sendable (Result<Void, any Error>) -> Void)?) -> Bool {
    let isRunning = self.queue.withLock { queue in
      if queue.isStopping { return false }
      queue.isStopping = true
      guard queue.isStarted else { return false }
      queue.work.append(
        .task { writer in
          let result = Result { try writer.finish() }
          // A caller that waits for the end may open the file again at once.
          writer.stop()
          completion?(result)
        })
      self.waiting.store(queue.work.count, ordering: .relaxed)
      return true
    }
    if isRunning { self.signal.wake() } else { completion?(.success(())) }
    return isRunning
  }

  /// Writes what remains when the program exits, on whichever thread that happens.
  private func stopAtExit() {
    if Thread.current.name == self.name {
      try? self.writer.finish()
      return
    }
    self.stop(completion: nil)
    self.end.wait()
  }
}

// MARK: - Callers

extension WritingThread {
  /// Adds a task.
  ///
  /// - Returns: Whether it will run; false once the thread has stopped.
  @discardableResult
  func perform(_ task: @escaping Task) -> Bool { self.add(.task(task)) }

  /// Adds a job, which is committed together with those beside it.
  ///
  /// - Returns: Whether it will run; false once the thread has stopped.
  func commit(_ job: Writer.Job) -> Bool { self.add(.job(job)) }

  private func add(_ work: Work) -> Bool {
    let (isTaken, mustWake) = self.queue.withLock { queue in
      if queue.isStopping { return (false, false) }
      queue.work.append(work)
      self.waiting.store(queue.work.count, ordering: .relaxed)
      return (true, !self.isSpinning)
    }
    if mustWake { self.signal.wake() }
    return isTaken
  }

  /// How many tasks and jobs wait.
  var count: Int { self.waiting.load(ordering: .relaxed) }

  /// Whether the thread looks at what it has to do before it sleeps, so that it need not be woken. For
  /// work of the writer that is not in this queue: read it under the lock under which the work was
  /// added, and the writer finds it.
  var isSpinning: Bool { self.spinning.load(ordering: .relaxed) }

  /// Has the thread look at what it has to do.
  func wake() { self.signal.wake() }
}

// MARK: - The thread

extension WritingThread {
  private func loop() {
    var workDue = SuspendingClock.now
    var gathering = Gathering()
    while true {
      if .now < gathering.end { self.gather() }
      let (work, isStopping) = self.queue.withLock { queue in
        defer { queue.work = [] }
        self.waiting.store(0, ordering: .relaxed)
        return (queue.work, queue.isStopping)
      }
      gathering.didCommit(self.run(work))
      if isStopping {
        if work.isEmpty { break }
        // The files are closed by now, and stay closed.
        continue
      }
      // A caller that has added something often adds more at once, and waking this thread takes longer
      // than doing it. Work that no caller waits for comes after that, but not too late.
      if !work.isEmpty, .now < workDue, self.hasMore(within: .microseconds(50)) { continue }
      workDue = .now + .milliseconds(10)
      let due = self.writer.work()
      if self.mustGoOn { continue }
      self.signal.wait(until: due, or: self.writer.neighbours.descriptor)
    }
    self.writer.stop()
  }

  /// Does tasks and jobs in their order, jobs that follow one another together.
  ///
  /// - Returns: How many jobs it has given to the writer together, at most.
  private func run(_ work: [Work]) -> Int {
    var (jobs, most) = ([Writer.Job](), 0)
    for work in work {
      switch work {
      case .job(let job): jobs.append(job)
      case .task(let task):
        if !jobs.isEmpty { self.writer.run(jobs) }
        most = max(most, jobs.count)
        jobs = []
        task(self.writer)
      }
    }
    if !jobs.isEmpty { self.writer.run(jobs) }
    return max(most, jobs.count)
  }

  /// Under the lock: what is added after this wakes the thread.
  private var mustGoOn: Bool { self.queue.withLock { !$0.work.isEmpty || $0.isStopping } }

  /// Whether more jobs are likely to come a moment after the first.
  private struct Gathering {
    var end = SuspendingClock.now

    mutating func didCommit(_ count: Int) {
      if count > 1 { self.end = .now + .milliseconds(20) }
    }
  }

  /// Waits for more jobs, as long as they come: a commit to a disk takes longer than that.
  private func gather() {
    var count = self.count
    if count == 0 { return }
    let end = SuspendingClock.now + .milliseconds(1)
    while .now < end,
      self.spin(
        for: min(.microseconds(60), SuspendingClock.now.duration(to: end)),
        until: { self.count > count })
    {
      count = self.count
    }
  }

  /// Waits a moment for a task or a job, without sleeping.
  private func hasMore(within duration: Duration) -> Bool {
    self.spin(for: duration) { self.count > 0 }
    return self.mustGoOn
  }

  @discardableResult
  private func spin(for duration: Duration, until isDone: () -> Bool) -> Bool {
    self.spinning.store(true, ordering: .relaxed)
    defer { self.spinning.store(false, ordering: .relaxed) }
    return BusyWait.wait(for: duration, until: isDone)
  }
}

/// The result of a writing thread's job, for the caller that waits for it.
final class JobOutcome<Value: Sendable>: Sendable {
  private enum State {
    case running
    case awaited(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
  }

  private let state = Locked(State.running)

  /// Whether the state is ``State/ended(_:)``. A caller that waits without sleeping reads this: by
  /// taking the lock it would block the thread that ends the job.
  private let hasEnded = Atomic(false)

  /// Ends the job. Called once.
  func set(_ result: Result<Value, any Error>) {
    let waiter = self.state.withLock { state -> CheckedContinuation<Value, any Error>? in
      defer { state = .ended(result) }
      if case .awaited(let waiter) = state { return waiter }
      return nil
    }
    self.hasEnded.store(true, ordering: .releasing)
    waiter?.resume(with: result)
  }

  /// Returns when the job has ended. Called once.
  ///
  /// - patience: How long to wait without suspending the task: suspending and waking it takes
  ///   longer than a commit to a disk in memory. Zero if other tasks need the thread.
  /// - Throws: The error of the job.
  func value(patience: Duration) async throws -> Value {
    BusyWait.wait(for: patience) { self.hasEnded.load(ordering: .acquiring) }
    if let result = self.result { return try result.get() }
    return try await withCheckedThrowingContinuation { waiter in
      let result = self.state.withLock { state -> Result<Value, any Error>? in
        if case .ended(let result) = state { return result }
        state = .awaited(waiter)
        return nil
      }
      if let result { waiter.resume(with: result) }
    }
  }

  private var result: Result<Value, any Error>? {
    self.state.withLock { state in
      if case .ended(let result) = state { return result }
      return nil
    }
  }
}
