package import FoundationEssentials

/// The part of a mutation's row that its life changes, and the rules by which it does.
///
/// Each transition is a pure function of the value: the time, and what the outbox looks up, are
/// parameters. The outboxes store rows, find them, and do what a ``Sequel`` says.
package struct OutboxStanding: Hashable, Sendable {
  package var state = OutboxEntry.State.pending
  /// What it waits for if it is pending, apart from its lane and from other mutations.
  package var wait = OutboxWait.nothing
  package var deadReason: MutationDeadReason?
  /// How many attempts were begun.
  package var attempts = 0
  /// How many of them failed and count against the limit.
  package var failures = 0
  /// How many of the last attempts ended with a crash of their process.
  package var crashCount = 0
  /// Whether the server may have carried out an earlier attempt.
  package var maybeApplied = false
  /// Whether a caller has requested that the current attempt be cancelled.
  package var isCancelRequested = false
  /// The right to run it, if it is leased.
  package var lease: Lease?
  /// Tells the current lease from earlier ones: incremented by each, and never lowered.
  package var token: Int64 = 0
  /// The outbox's epoch of credentials when it was last leased.
  package var credentialsEpoch: Int64 = 0
  /// The class of the last failure, as `connectivity`.
  package var lastFailure: String?
  /// When that was, microseconds since 1970.
  package var failedAt: Int64?
  package var lastError: RestoredError?

  /// The process that runs a row, and until when.
  package struct Lease: Hashable, Sendable {
    package var owner: String
    /// By `CLOCK_MONOTONIC`, microseconds, in the boot of ``bootID``.
    package var endMonotonic: Int64
    package var bootID: String
    /// When the attempt began, microseconds since 1970.
    package var startedAt: Int64

    package init(owner: String, endMonotonic: Int64, bootID: String, startedAt: Int64) {
      self.owner = owner
      self.endMonotonic = endMonotonic
      self.bootID = bootID
      self.startedAt = startedAt
    }
  }

  /// What an outbox does with a row after a transition.
  package enum Sequel: Hashable, Sendable {
    /// It keeps the row, which is pending.
    case pending
    /// It keeps the row, which is dead.
    case dead(MutationDeadReason)
    /// It moves the row to the history. State and lease are still those from before.
    case ended(RecordedMutation.Outcome)
  }

  /// Whether a row that waits for an alias can get it.
  package enum AliasProspect: Sendable {
    /// It is published.
    case published
    /// An earlier live row may publish it.
    case awaited
    /// No row can publish it any more.
    case vain
  }

  /// A pending row that waits for nothing.
  package init() {}

  /// A new mutation's.
  package init(_ new: NewMutation, at now: OutboxTime) {
    if let delay = new.delay, delay > .zero {
      self.wait = .time(.scheduled, OutboxDelay(delay, from: now))
    } else {
      self.wait = OutboxWait(new.waitReason)
    }
  }
}

// MARK: - Questions

extension OutboxStanding {
  /// Whether those behind the row in its lane must wait for it. A row without a lane holds the lane
  /// of its own while it is live.
  package func holdsLane(_ lane: String?, _ policy: LanePolicy) -> Bool {
    self.state != .dead || lane != nil && policy == .halt
  }

  /// Whether this lease of the row still holds.
  package func isLeased(by owner: String, token: Int) -> Bool {
    self.state == .leased && self.token == Int64(token) && self.lease?.owner == owner
  }

  /// How many microseconds it still waits; nil if it does not wait for a time.
  package func remaining(_ now: OutboxTime) -> Int64? {
    self.state == .pending ? self.wait.delay?.remaining(now) : nil
  }

  /// Whether only the row's lane, or a pause, can keep it from running.
  package func isReady(hasDependencies: Bool, at now: OutboxTime) -> Bool {
    self.state == .pending && !hasDependencies && self.wait.isOver(at: now)
  }
}

// MARK: - Attempts

extension OutboxStanding {
  /// Begins an attempt.
  package mutating func begin(_ lease: Lease, credentialsEpoch: Int64) {
    self.state = .leased
    self.wait = .nothing
    self.attempts += 1
    // Only compared for equality: it may wrap around.
    self.token &+= 1
    self.credentialsEpoch = credentialsEpoch
    self.lease = lease
  }

  /// Ends an attempt. A requested cancellation takes effect unless it succeeded.
  ///
  /// - Parameters:
  ///   - outcome: How it ended.
  ///   - prospect: What is known of the alias, if the outcome names one.
  ///   - credentialsEpoch: The outbox's epoch of credentials.
  ///   - now: The time.
  package mutating func settle(
    _ outcome: AttemptOutcome, _ prospect: AliasProspect, credentialsEpoch: Int64,
    at now: OutboxTime
  ) -> Sequel {
    switch outcome {
    case .succeeded(let success):
      self.lastError = success.warning
      return .ended(.succeeded)
    case .cancelled(let maybeApplied):
      self.maybeApplied = self.maybeApplied || maybeApplied
      return .ended(.cancelled)
    case .failed(let failure):
      self.note(failure, at: now)
      if self.isCancelRequested { return .ended(.cancelled) }
      return self.goOn(failure.next, prospect, credentialsEpoch: credentialsEpoch, at: now)
    }
  }

  private mutating func note(_ failure: FailedAttempt, at now: OutboxTime) {
    if failure.isCharged { self.failures += 1 }
    self.maybeApplied = self.maybeApplied || failure.maybeApplied
    self.crashCount = 0
    self.lastError = failure.error
    self.lastFailure = failure.outcome
    self.failedAt = now.wall.microsecondsSince1970
  }

  /// Does what a failure says.
  private mutating func goOn(
    _ next: FailedAttempt.Next, _ prospect: AliasProspect, credentialsEpoch: Int64,
    at now: OutboxTime
  ) -> Sequel {
    switch next {
    case .now: self.makePending()
    case .wait(let reason, let delay):
      self.makePending(OutboxWait(reason, OutboxDelay(delay, from: now)))
    case .waitForCredentials:
      // If new credentials came while it was refused, it is retried with those.
      self.makePending(self.credentialsEpoch == credentialsEpoch ? .credentials : .nothing)
    case .waitForAlias(let alias):
      switch prospect {
      case .published: self.makePending()
      case .awaited: self.makePending(.alias(alias))
      case .vain: return self.kill(.dependency)
      }
    case .retry(_, _, let delay):
      self.makePending(delay > .zero ? .time(.backoff, OutboxDelay(delay, from: now)) : .nothing)
    case .dead(let reason): return self.kill(reason)
    case .drop: return .ended(.superseded)
    }
    return .pending
  }

  /// After this many crashes of its process a row is not retried.
  private static let maximumCrashes = 5

  /// Takes the row back from a process that no longer runs it.
  ///
  /// - Parameter isCrash: Whether the process has crashed.
  package mutating func lose(isCrash: Bool) -> Sequel {
    self.maybeApplied = true
    if isCrash { self.crashCount += 1 }
    if self.isCancelRequested { return .ended(.cancelled) }
    if self.crashCount >= Self.maximumCrashes { return self.kill(.crashLoop) }
    self.makePending()
    return .pending
  }
}

// MARK: - Changes

extension OutboxStanding {
  /// Makes the row pending.
  package mutating func makePending(_ wait: OutboxWait = .nothing) {
    self.state = .pending
    self.wait = wait
    self.deadReason = nil
    self.lease = nil
  }

  /// Makes the row dead. Those that depend on it go on waiting.
  @discardableResult
  package mutating func kill(_ reason: MutationDeadReason) -> Sequel {
    self.state = .dead
    self.wait = .nothing
    self.deadReason = reason
    self.lease = nil
    return .dead(reason)
  }

  /// Makes a dead row live again, and a waiting one due at once.
  ///
  /// - Returns: Whether it was dead, so that its age starts anew.
  /// - Throws: ``OutboxError/running(_:)``.
  package mutating func retry(_ id: UUID) throws(OutboxError) -> Bool {
    if self.state == .leased { throw .running(id) }
    let wasDead = self.state == .dead
    if wasDead { (self.failures, self.crashCount) = (0, 0) }
    self.makePending()
    return wasDead
  }

  /// Ends a dead row.
  ///
  /// - Throws: ``OutboxError/running(_:)``, ``OutboxError/notDead(_:)``.
  package func discard(_ id: UUID) throws(OutboxError) -> Sequel {
    switch self.state {
    case .leased: throw .running(id)
    case .pending: throw .notDead(id)
    case .dead: return .ended(.discarded)
    }
  }

  /// Ends a row that no process runs; requests that of the process that runs it otherwise.
  ///
  /// - Returns: nil if a process runs it.
  package mutating func cancel() -> Sequel? {
    if self.state != .leased { return .ended(.cancelled) }
    self.isCancelRequested = true
    return nil
  }

  /// Lets a row go on that waits for credentials, or that waits after a failed connection.
  ///
  /// - Returns: Whether it waited for that.
  package mutating func release(_ reason: MutationWaitReason) -> Bool {
    guard self.state == .pending else { return false }
    switch (reason, self.wait) {
    case (.authentication, .credentials), (.offline, .time(.offline, _)): break
    case (.offline, .time) where self.lastFailure == MutationFailure.connectivity.word: break
    default: return false
    }
    self.wait = .nothing
    return true
  }
}
