import FoundationEssentials
import Glibc
import Query

// MARK: - Committing

extension OutboxWriter {
  /// A job, and its result in a transaction.
  private struct Attempted {
    let job: OutboxJob
    let failure: (any Error)?
  }

  /// Another job's failure has rolled the transaction back.
  private struct Undone: Error {}

  /// Commits jobs, as many together as one transaction has time for, and calls their completions.
  func run(_ jobs: [OutboxJob]) {
    var rest = jobs[...]
    while !rest.isEmpty {
      rest = rest.dropFirst(self.runTogether(Array(rest)))
      if !rest.isEmpty { self.connection?.letOthersWrite() }
    }
  }

  /// Commits a job on the thread of its caller, and calls its completion, if that takes no longer than
  /// a commit usually takes.
  ///
  /// - Returns: Whether it was committed, or refused because of its content. If not, nothing was written:
  ///   the writing thread has more patience, and mends what is wrong.
  func tryRun(_ job: inout OutboxJob) -> Bool {
    guard self.database.commitsFast else { return false }
    return self.commitForCaller { connection in
      do {
        _ = try self.commitOnce([job], patience: Self.callersPatience)
      } catch {
        guard Self.isRefusal(error), self.connection === connection else {
          if Self.storageError(error).code != .busy { job.failure = error }
          return false
        }
        job.completion(Self.refusal(error))
      }
      return true
    }
  }

  /// Commits jobs together.
  ///
  /// - Returns: How many of them were done, or refused.
  private func runTogether(_ jobs: [OutboxJob]) -> Int {
    do {
      return try self.commit(jobs)
    } catch {
      if jobs.count > 1, self.connection != nil {
        // A job that is too large for the disk must not keep the others from it.
        for job in jobs { _ = self.runTogether([job]) }
      } else {
        for job in jobs { job.completion(Self.refusal(error)) }
      }
      return jobs.count
    }
  }

  private static func refusal(_ error: any Error) -> any Error {
    error is OutboxError ? error : Self.storageError(error)
  }

  /// Commits jobs, and retries once if something could be repaired.
  ///
  /// - Returns: How many.
  private func commit(_ jobs: [OutboxJob]) throws -> Int {
    do {
      if jobs.count == 1, let failure = jobs[0].failure { throw failure }
      return try self.commitOnce(jobs, patience: self.patience(of: jobs))
    } catch {
      if error is Undone || Self.isRefusal(error) { throw error }
      let failure = Self.storageError(error)
      guard try self.mend(failure) else {
        self.didFail(failure)
        throw error
      }
      do {
        return try self.commitOnce(jobs, patience: self.patience(of: jobs))
      } catch {
        if !(error is Undone), !Self.isRefusal(error) { self.didFail(error) }
        throw error
      }
    }
  }

  /// Whether a job was refused because of its own content.
  private static func isRefusal(_ error: any Error) -> Bool {
    if error is OutboxError { return true }
    // SQLite's own refusals have the name of one of its calls.
    let failure = error as? StorageError
    return failure?.code == .misuse || failure?.operation == "enqueue"
  }

  /// Makes room in the WAL, or replaces a damaged file.
  ///
  /// - Returns: Whether a retry is worthwhile.
  private func mend(_ failure: StorageError) throws -> Bool {
    guard let connection = self.connection else { return false }
    if failure.isOutboxDamage {
      self.didFindDamage(failure)
      return self.connection != nil
    }
    guard failure.code == .full || failure.code == .inputOutput else { return false }
    // The WAL keeps its disk space, and is then written from its beginning.
    self.checkpointPatiently(connection)
    return true
  }

  /// How long jobs wait for a lock: long enough that the longest-waiting one uses its timeout once.
  /// A moment is left in any case, since other connections commit too.
  private func patience(of jobs: [OutboxJob]) -> BusyHandler.Patience {
    let timeout = self.configuration.busyTimeout
    let first = jobs.map(\.since).min() ?? .now
    return .until(max(first + timeout, .now + timeout / 10))
  }

  /// - Returns: How many of the jobs were done, at least one.
  private func commitOnce(_ jobs: [OutboxJob], patience wait: BusyHandler.Patience) throws -> Int {
    let start = SuspendingClock.now
    let connection = try self.usableConnection()
    if jobs.contains(where: { $0.needsOwner }) { try self.ensureOwner() }
    let patience = connection.busyHandler.patience
    connection.busyHandler.patience = wait
    defer { connection.busyHandler.patience = patience }
    let now = self.now
    var attempted = [Attempted]()
    var changes = [PartitionChanges]()
    self.neighbours.willCommit()
    try connection.write {
      let version = try connection.contentVersion
      let budget = StepBudget(time: StepBudget.callersTime)
      for job in jobs {
        if budget.isSpent(after: attempted.count) { break }
        let partition = job.partition
        let change =
          try changes.first { $0.partition === partition }
          ?? {
            let memory = self.memories.recall(
              partition.name, at: version, isAlone: changes.isEmpty)
            let change = PartitionChanges(
              partition, try self.begin(partition, connection, now, memory))
            if !changes.isEmpty {
              // Each of several would take the same numbers.
              for each in changes + [change] { each.changes.memory.isBesideOthers = true }
            }
            try change.changes.expire()
            changes.append(change)
            return change
          }()
        let failure = try self.attempt(job, &change.changes, isAlone: jobs.count == 1)
        attempted.append(Attempted(job: job, failure: failure))
      }
      for change in changes { try change.changes.finish() }
      if changes.contains(where: { $0.changes.outcome.isChanged }) {
        try self.writeAsides(connection, now)
      }
    }
    self.noteSuccess(of: changes)
    self.database.didCommit(in: start.duration(to: .now))
    // A caller that goes on finds its commit in the statistics.
    self.countWritten(connection)
    // A fetch that a caller begins now is not of an older value than what its mutation has made stale.
    let instant = ContinuousClock.now
    for attempt in attempted { attempt.job.completion(attempt.failure) }
    // The rest concerns this thread alone, and the callers need not wait for it.
    self.memories.keep(changes, at: try? connection.contentVersion)
    self.didCommit(connection, changes)
    self.didTell(changes, at: instant)
    return attempted.count
  }

  /// Begins to change a partition.
  ///
  /// - Parameter memory: The memory of the previous transaction, if no other process has committed
  ///   since.
  /// - Throws: `StorageError`.
  func begin(
    _ partition: OutboxPartition,
    _ connection: SQLiteConnection,
    _ now: OutboxTime,
    _ memory: OutboxMemory? = nil
  ) throws -> OutboxTransaction {
    let terms = OutboxTransaction.Terms(
      owner: self.owner?.name, leases: self.leases,
      leaseLength: self.configuration.leaseLength,
      limits: self.configuration.mutationHistory, reaper: self.reaper,
      synchronisedAt: self.synchronisedAt,
      isHistoryAgeDue: self.isHistoryAgeDue(of: partition, now),
      expired: self.expiredCounts[partition.name] ?? 0)
    return try OutboxTransaction(
      partitionNamed: partition.name, on: connection, terms, handlers: partition.handlers, now,
      memory)
  }

  /// Whether to check the history's age, which counts in days.
  private func isHistoryAgeDue(of partition: OutboxPartition, _ now: OutboxTime) -> Bool {
    guard let seen = self.historyAgeSeenAt[partition.name] else { return true }
    let minute: UInt64 = 60_000_000
    return now.wall.microsecondsSince1970.clampedDifference(seen).magnitude >= minute
  }

  /// Runs a job so that its failure undoes only itself.
  private func attempt(
    _ job: OutboxJob,
    _ changes: inout OutboxTransaction,
    isAlone: Bool
  ) throws -> (any Error)? {
    if isAlone {
      try job.body(&changes)
      return nil
    }
    let before = changes
    try changes.connection.execute("SAVEPOINT job")
    do {
      try job.body(&changes)
      try changes.connection.execute("RELEASE job")
      return nil
    } catch {
      changes = before
      do {
        try changes.connection.execute("ROLLBACK TO job")
        try changes.connection.execute("RELEASE job")
      } catch {
        throw Undone()
      }
      // An error of the file or the disk is examined for each job alone.
      if !Self.isRefusal(error) { throw Undone() }
      return error
    }
  }

  /// Writes rows that are due at some time together with ones that must be written now.
  private func writeAsides(_ connection: SQLiteConnection, _ now: OutboxTime) throws {
    if let owner = self.owner, !self.isOwnerRecorded {
      try connection.execute(
        OwnerRow.insert, owner.name, now.bootID, Int64(getpid()), now.wall.microsecondsSince1970)
    }
    for effects in self.effectsToClear {
      try connection.execute(HistoryRow.clearEffects, effects.sequence, effects.text)
    }
    let wall = now.wall.microsecondsSince1970
    let hour: Int64 = 3_600_000_000
    if now.isSynchronised, wall > (self.synchronisedAt ?? .min).clampedSum(hour) {
      try connection.execute(ClockRow.setSynchronised, wall)
    }
  }
}
