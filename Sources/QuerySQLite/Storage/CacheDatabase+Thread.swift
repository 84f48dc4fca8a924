import Foundation
import Query

// MARK: - The writing thread

extension CacheDatabase {
  /// Opens the file, and starts the thread.
  ///
  /// - Throws: `StorageError` for a fault that the user must mend.
  func start() throws {
    try self.writer.start(for: self)
    self.end.enter()
    // Until the thread has ended, even if the last storage is gone before.
    let exitToken = ExitFlush.register { self.stopAtExit() }
    let thread = Thread { [self] in
      self.loop()
      self.didEnd()
      self.end.leave()
      ExitFlush.unregister(exitToken)
    }
    thread.name = "query-cache"
    thread.stackSize = 1 << 20
    thread.start()
  }

  private func loop() {
    var workDue = SuspendingClock.now
    while true {
      let (jobs, isStopping) = self.guarded.withLock { database in
        defer { database.jobs = [] }
        return (database.jobs, database.isStopping)
      }
      for job in jobs { job(self.writer) }
      if isStopping {
        if jobs.isEmpty { break }
        // The files are closed by now, and stay closed.
        continue
      }
      // A caller that has submitted a job often submits another at once, and waking this thread
      // takes longer than doing it. Work that no caller waits for comes after that, but not too
      // late.
      if !jobs.isEmpty, .now < workDue, self.hasMore(within: .microseconds(50)) { continue }
      workDue = .now + .milliseconds(10)
      let due = self.writer.work(queuedSince: self.guarded.withLock { $0.firstQueuedAt })
      let mustGoOn = self.guarded.withLock { !$0.jobs.isEmpty || $0.isStopping }
      if mustGoOn { continue }
      self.signal.wait(until: due, or: self.writer.neighbours.descriptor)
    }
    self.writer.stop()
  }

  /// Waits a moment for a job, without sleeping.
  ///
  /// - Returns: Whether there is a job, or a change to write.
  private func hasMore(within duration: Duration) -> Bool {
    self.guarded.withLock { $0.isSpinning = true }
    BusyWait.wait(for: duration) { self.waitingCount.value > 0 }
    // Under the lock: any thread that comes after this wakes the writing thread.
    return self.guarded.withLock { database in
      database.isSpinning = false
      return !database.jobs.isEmpty || !database.queue.isEmpty || database.isStopping
    }
  }

  /// Stops the thread when it has written the remaining changes.
  ///
  /// - Parameter completion: Called with the result: the error if something could not be written.
  func stop(completion: (@Sendable (Result<Void, any Error>) -> Void)?) {
    let isFirst = self.guarded.withLock { database in
      if database.isStopping { return false }
      database.jobs.append { writer in
        let result = Result { try writer.finish() }
        // A caller that waits for the end may open the file again at once.
        writer.stop()
        completion?(result)
      }
      database.isStopping = true
      return true
    }
    if !isFirst { completion?(.success(())) }
    self.signal.wake()
  }

  /// Writes the remaining changes when the program exits, on whichever thread that happens.
  func stopAtExit() {
    if Thread.current.name == "query-cache" {
      try? self.writer.finish()
      return
    }
    self.stop(completion: nil)
    self.end.wait()
  }
}
