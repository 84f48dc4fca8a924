import Foundation
import Query

// MARK: - The writing thread

extension OutboxDatabase {
  /// Starts the thread, which opens the file, unless it is running.
  func start() {
    let isFirst = self.guarded.withLock { database in
      if database.isStarted || database.isStopping { return false }
      database.isStarted = true
      // Under the lock, so that a caller that finds it started waits for the file.
      self.opening.enter()
      self.end.enter()
      return true
    }
    guard isFirst else { return }
    let exitToken = ExitFlush.register { self.stopAtExit() }
    let thread = Thread { [self] in
      self.writer.start(for: self)
      self.opening.leave()
      self.loop()
      self.didEnd()
      self.end.leave()
      ExitFlush.unregister(exitToken)
    }
    thread.name = "query-outbox"
    thread.stackSize = 1 << 20
    thread.start()
  }

  private func loop() {
    var workDue = SuspendingClock.now
    var gathering = Gathering()
    while true {
      let (tasks, jobs) = self.takeWork(&gathering)
      for task in tasks { task(self.writer) }
      if !jobs.isEmpty {
        self.writer.run(jobs)
        gathering.didCommit(jobs.count)
      }
      let isIdle = jobs.isEmpty && tasks.isEmpty
      if isIdle, self.guarded.withLock({ $0.isStopping && $0.jobs.isEmpty && $0.tasks.isEmpty }) {
        break
      }
      // A caller that has written often writes again at once, and waking this thread takes longer
      // than doing it.
      if !isIdle, .now < workDue, self.hasMore(within: .microseconds(50)) { continue }
      workDue = .now + .milliseconds(10)
      let due = self.writer.work()
      let mustGoOn = self.guarded.withLock { database in
        !database.jobs.isEmpty || !database.tasks.isEmpty || database.isStopping
      }
      if mustGoOn { continue }
      self.signal.wait(until: due, or: self.writer.neighbours.descriptor)
    }
    self.writer.stop()
  }

  /// Whether more jobs are likely to come a moment after the first.
  private struct Gathering {
    var until = SuspendingClock.now

    mutating func didCommit(_ count: Int) {
      if count > 1 { self.until = .now + .milliseconds(20) }
    }
  }

  /// Takes the waiting jobs. If several came together a moment ago, it waits for more, as long as
  /// they come: a commit to a disk takes longer than that.
  private func takeWork(
    _ gathering: inout Gathering
  ) -> (tasks: [@Sendable (OutboxWriter) -> Void], jobs: [OutboxJob]) {
    var count = self.waitingCount.value
    if count > 0, .now < gathering.until {
      let end = SuspendingClock.now + .milliseconds(1)
      self.guarded.withLock { $0.isSpinning = true }
      while .now < end,
        BusyWait.wait(
          for: min(.microseconds(60), SuspendingClock.now.duration(to: end)),
          until: { self.waitingCount.value > count })
      {
        count = self.waitingCount.value
      }
    }
    return self.guarded.withLock { database in
      database.isSpinning = false
      defer { (database.tasks, database.jobs) = ([], []) }
      return (database.tasks, database.jobs)
    }
  }

  /// Waits a moment for a job, without sleeping.
  private func hasMore(within duration: Duration) -> Bool {
    self.guarded.withLock { $0.isSpinning = true }
    BusyWait.wait(for: duration) { self.waitingCount.value > 0 }
    return self.guarded.withLock { database in
      database.isSpinning = false
      return !database.jobs.isEmpty || !database.tasks.isEmpty || database.isStopping
    }
  }

  /// Stops the thread when it has done all jobs so far.
  ///
  /// - Parameter completion: Called with the result: the error if something could not be written.
  /// - Returns: Whether this call stops it; false if it was never started, or is stopping.
  @discardableResult
  func stop(completion: (@Sendable (Result<Void, any Error>) -> Void)?) -> Bool {
    let isRunning = self.guarded.withLock { database in
      if database.isStopping { return false }
      database.isStopping = true
      guard database.isStarted else { return false }
      database.tasks.append { writer in
        let result = Result { try writer.finish() }
        // A caller that waits for the end may open the file again at once.
        writer.stop()
        completion?(result)
      }
      return true
    }
    if isRunning { self.signal.wake() } else { completion?(.success(())) }
    return isRunning
  }

  /// Gives back the running rows when the program exits, on whichever thread that happens.
  private func stopAtExit() {
    if Thread.current.name == "query-outbox" {
      try? self.writer.finish()
      return
    }
    self.stop(completion: nil)
    self.end.wait()
  }
}
