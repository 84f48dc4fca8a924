import Dispatch
import FoundationEssentials
import Glibc
import Query
import Synchronization

/// What a ``WritingThread`` asks of the writer that it runs.
protocol ThreadedWriter: AnyObject, SendableMetatype {
  /// What is committed together with others of its kind; `Never` if there is no such thing.
  associatedtype Job: Sendable

  var neighbours: Neighbours { get }

  /// Commits jobs, and calls their completions.
  func run(_ jobs: [Job])

  /// Does what is due.
  func work()

  /// When ``work()`` has something to do next; nil: not before something happens.
  var nextDue: SuspendingClock.Instant? { get }

  /// Writes what remains, when no more will come.
  ///
  /// - Throws: `StorageError` if not all could be written.
  func finish() throws

  /// Closes the files. May be called again.
  func stop()
}

/// The thread of a database's writer. It does tasks and jobs in the order in which they came, and
/// what is due in between. While it sleeps, a caller may use the writer on its own thread, by
/// ``ifIdle(_:)``: waking another thread, and being woken by it, takes as long as a commit.
///
/// Locking: `queue` has its own lock, under which nothing is called.
// @unchecked: the writer is used by its holder alone: the thread that starts this one, until it does so;
// then this thread, or the caller that `Queue.holder` names.
//
// Its extensions alone constrain the types: a generic type whose own constraints name a protocol costs a
// launch 50 µs for each, since the runtime library looks through all conformances of the program.
final class WritingThread<Writer: AnyObject, Job: Sendable>: @unchecked Sendable {
  /// Something to do on the thread. It handles its own failures.
  typealias Task = @Sendable (Writer) -> Void

  private enum Work {
    case task(Task)
    case job(Job)
  }

  private struct Queue {
    var work = [Work]()
    var isStarted = false
    var isStopping = false
    /// The thread that uses the writer; nil: none does, or this one has not begun.
    var holder: pthread_t?
    var hasBegun = false
    /// Whether this thread waits for a caller that uses the writer.
    var isWanted = false
    /// Whether this thread must look at what is due before it sleeps. Not set by work that is added, which it
    /// finds anyway: it would be woken for that once more by the next caller.
    var mustLook = false
    /// Whether this thread was woken since it fell asleep.
    var isWoken = false
    /// When this thread wakes by itself; nil: it does not.
    var wakesAt: SuspendingClock.Instant?
    /// The watch whose descriptor this thread waits for.
    var watched: Int32?
    /// Until when jobs are likely to come side by side: then this thread commits them together.
    var gathersUntil = SuspendingClock.now
  }

  let writer: Writer
  private let name: String
  private let signal: WakeSignal
  private let queue = Locked(Queue())
  /// How many tasks and jobs wait. Changed under the lock of the queue; a thread that polls reads this
  /// instead, so as not to block the callers.
  private let waiting = Atomic(0)
  private let begun = DispatchGroup()
  private let end = DispatchGroup()

  /// How long this thread waits for the next job without sleeping.
  private let patience: Duration
  /// How long work that no caller waits for is put off while jobs come.
  private let workDelay: Duration

  /// - Parameters:
  ///   - name: The name of the thread. Each kind of database has its own.
  ///   - writer: The writer.
  ///   - patience: How long the thread waits for the next job without sleeping.
  ///   - workDelay: How long work that no caller waits for is put off while jobs come.
  /// - Throws: `StorageError` if the process has no descriptor left.
  init(
    name: String, _ writer: Writer, patience: Duration = .microseconds(20),
    workDelay: Duration = .milliseconds(10)
  ) throws(StorageError) {
    self.name = name
    self.writer = writer
    (self.patience, self.workDelay) = (patience, workDelay)
    self.signal = try WakeSignal()
  }
}

// MARK: - Life

extension WritingThread where Writer: ThreadedWriter, Job == Writer.Job {
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
    startThread(self.name, stackSize: 1 << 20) { [self] in
      self.queue.withLock { $0.holder = pthread_self() }
      begin(self.writer)
      self.begun.leave()
      self.loop()
      didEnd()
      self.end.leave()
      ExitFlush.unregister(exitToken)
    }
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
    if self.queue.withLock({ $0.holder.map { pthread_equal($0, pthread_self()) != 0 } ?? false }) {
      try? self.writer.finish()
      return
    }
    self.stop(completion: nil)
    self.end.wait()
  }
}

// MARK: - Callers

extension WritingThread where Writer: ThreadedWriter, Job == Writer.Job {
  /// Adds a task.
  ///
  /// - Returns: Whether it will run; false once the thread has stopped.
  @discardableResult
  func perform(_ task: @escaping Task) -> Bool { self.add(.task(task)) }

  /// Adds a job, which is committed together with those beside it.
  ///
  /// - Returns: Whether it will run; false once the thread has stopped.
  func commit(_ job: Job) -> Bool { self.add(.job(job)) }

  private func add(_ work: Work) -> Bool {
    let (isTaken, mustWake) = self.queue.withLock { queue in
      if queue.isStopping { return (false, false) }
      queue.work.append(work)
      self.waiting.store(queue.work.count, ordering: .relaxed)
      return (true, Self.mustWake(&queue))
    }
    if mustWake { self.signal.wake() }
    return isTaken
  }

  /// How many tasks and jobs wait.
  var count: Int { self.waiting.load(ordering: .relaxed) }

  /// Has the thread look at what it has to do.
  func wake() {
    let mustWake = self.queue.withLock { queue in
      queue.mustLook = true
      return Self.mustWake(&queue)
    }
    if mustWake { self.signal.wake() }
  }

  /// Has the thread look at what it has to do at a time, or before.
  func wake(by time: SuspendingClock.Instant) { self.queue.withLock { self.setTimer(&$0, time) } }

  /// The holder of the writer looks at the queue before it lets go of it.
  private static func mustWake(_ queue: inout Queue) -> Bool {
    if queue.holder != nil || queue.isWoken { return false }
    queue.isWoken = true
    return true
  }

  private static func hasMore(_ queue: Queue) -> Bool {
    !queue.work.isEmpty || queue.mustLook || queue.isStopping
  }

  /// Under the lock, so that a later time does not replace an earlier one.
  private func setTimer(_ queue: inout Queue, _ time: SuspendingClock.Instant) {
    if let wakesAt = queue.wakesAt, wakesAt <= time { return }
    queue.wakesAt = time
    self.signal.wake(at: time)
  }

  /// Uses the writer on the calling thread, if nothing else is under way.
  ///
  /// - Parameter body: Uses the writer, for no longer than a commit takes. Returns whether it has done
  ///   what it was to do.
  /// - Returns: What the closure returned; false if it was not called. Then the thread is to do it.
  func ifIdle(_ body: (Writer) -> Bool) -> Bool {
    let isHeld = self.queue.withLock { queue in
      guard queue.hasBegun, !queue.isStopping, queue.holder == nil, !queue.isWanted,
        queue.work.isEmpty, .now >= queue.gathersUntil
      else { return false }
      queue.holder = pthread_self()
      return true
    }
    guard isHeld else { return false }
    let isDone = body(self.writer)
    let (due, watch) = (self.writer.nextDue, self.writer.neighbours.watchDescriptor)
    let mustWake = self.queue.withLock { queue in
      queue.holder = nil
      if let due { self.setTimer(&queue, due) }
      let isNeeded =
        queue.isWanted || Self.hasMore(queue) || queue.watched != watch
      return isNeeded && Self.mustWake(&queue)
    }
    if mustWake { self.signal.wake() }
    return isDone
  }
}

// MARK: - The thread

extension WritingThread where Writer: ThreadedWriter, Job == Writer.Job {
  private func loop() {
    var workDue = SuspendingClock.now
    while true {
      let gathersUntil = self.queue.withLock(\.gathersUntil)
      if .now < gathersUntil { self.gather() }
      let (work, isStopping) = self.queue.withLock { queue in
        defer { queue.work = [] }
        self.waiting.store(0, ordering: .relaxed)
        return (queue.work, queue.isStopping)
      }
      if self.run(work) > 1 {
        self.queue.withLock { $0.gathersUntil = .now + .milliseconds(20) }
      }
      if isStopping {
        if work.isEmpty { break }
        // The files are closed by now, and stay closed.
        continue
      }
      // Work that no caller waits for comes later, but not too late.
      if !work.isEmpty, .now < workDue, self.lingers(until: workDue) { continue }
      workDue = .now + self.workDelay
      // What was to be done by then is done now.
      self.queue.withLock { ($0.wakesAt, $0.mustLook) = (nil, false) }
      self.writer.work()
      self.sleep()
    }
    self.writer.stop()
  }

  /// Stays awake for a moment: a caller that has added something often adds more at once, and waking this
  /// thread takes longer than doing it. One that comes alone uses the writer itself meanwhile.
  ///
  /// - Parameter workDue: When this thread has other work to do.
  /// - Returns: Whether something has been added.
  private func lingers(until workDue: SuspendingClock.Instant) -> Bool {
    let isIdle = self.queue.withLock { queue in
      if !queue.work.isEmpty || queue.isStopping { return false }
      (queue.holder, queue.hasBegun, queue.isWoken) = (nil, true, true)
      return true
    }
    if !isIdle { return true }
    let hasMore = BusyWait.wait(for: self.patience) { self.count > 0 }
    let isHeld = self.queue.withLock { queue in
      if queue.holder != nil {
        // A caller came alone, and is likely to come again: if this thread wanted the writer now, what that
        // caller commits next would be sent here, and so all that follows.
        queue.isWoken = false
        self.setTimer(&queue, workDue)
        return false
      }
      queue.holder = pthread_self()
      return true
    }
    if isHeld { return hasMore }
    repeat { self.signal.wait() } while !self.hold()
    return self.count > 0
  }

  /// Whether this thread is awake, or is being woken.
  var isAwake: Bool { self.queue.withLock(\.isWoken) }

  /// Whether it waits for a caller that uses the writer.
  var isWaitingForCaller: Bool { self.queue.withLock(\.isWanted) }

  /// Lets callers use the writer until there is something to do here.
  private func sleep() {
    let (due, watch) = (self.writer.nextDue, self.writer.neighbours.watchDescriptor)
    let looksAtWatch = self.writer.neighbours.descriptor != nil
    let isIdle = self.queue.withLock { queue in
      if Self.hasMore(queue) { return false }
      if let due { self.setTimer(&queue, due) }
      (queue.holder, queue.hasBegun, queue.isWoken, queue.watched) = (nil, true, false, watch)
      return true
    }
    if !isIdle { return }
    repeat {
      self.signal.wait(or: looksAtWatch ? watch : nil)
    } while !self.hold()
  }

  /// - Returns: Whether this thread holds the writer now; if not, it is woken when a caller lets go of
  ///   it.
  private func hold() -> Bool {
    self.queue.withLock { queue in
      // Under the lock, as setting it: what is due next is set anew, by the caller that lets go of the writer
      // if not by this thread.
      if self.signal.takeTime() { queue.wakesAt = nil }
      queue.isWanted = queue.holder != nil
      if queue.isWanted {
        queue.isWoken = false
        return false
      }
      queue.holder = pthread_self()
      return true
    }
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

  /// Waits for more jobs, as long as they come: a commit to a disk takes longer than that.
  private func gather() {
    var count = self.count
    if count == 0 { return }
    let end = SuspendingClock.now + .milliseconds(1)
    while .now < end,
      BusyWait.wait(
        for: min(.microseconds(60), SuspendingClock.now.duration(to: end)),
        until: { self.count > count })
    {
      count = self.count
    }
  }
}
