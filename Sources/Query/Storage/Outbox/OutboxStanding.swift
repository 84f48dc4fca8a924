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
  /// How many of those failed in a way that is not known.
  package var unknownFailures = 0
  /// When the first of those was.
  package var unknownSince: OutboxAge?
  /// How many of the last attempts ended with a crash of their process, in which nothing else ran.
  package var crashCount = 0
  /// Whether it ran beside others when their process crashed, and no attempt has ended since: it runs
  /// alone, so that the next crash shows whether it is to blame.
  package var isSuspect = false
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
    /// When it was given, by `CLOCK_MONOTONIC` of that boot; 0: unknown.
    package var startedMonotonic: Int64
    /// When the attempt began, microseconds since 1970.
    package var startedAt: Int64

    package init(
      owner: String, endMonotonic: Int64, bootID: String, startedMonotonic: Int64 = 0,
      startedAt: Int64
    ) {
      self.owner = owner
      self.endMonotonic = endMonotonic
      self.bootID = bootID
      self.startedMonotonic = startedMonotonic
      self.startedAt = startedAt
    }

    /// Whether its attempt is known to have run so long that it cannot be what has crashed its process:
    /// that happens soon, or not at all.
    ///
    /// - Parameter length: How long a lease lasts after its last extension.
    package func hasRunLong(_ length: Duration) -> Bool {
      guard self.startedMonotonic > 0 else { return false }
      return self.endMonotonic.clampedDifference(self.startedMonotonic)
        .clampedDifference(length.microseconds) >= OutboxStanding.longRun.microseconds
    }

    /// How long until ``hasRunLong(_:)`` will say so of a process that crashes from then on; nil: it does.
    ///
    /// - Parameter length: How long a lease lasts. It is extended three times in this time.
    package func untilLong(at now: OutboxTime, length: Duration) -> Duration? {
      let passed = Int64(now.monotonic).clampedDifference(self.startedMonotonic)
      let left = (OutboxStanding.longRun + length / 3).microseconds.clampedDifference(passed)
      return left > 0 ? .microseconds(left) : nil
    }
  }

  /// How an attempt ended without being settled.
  package enum Loss: Hashable, Sendable {
    /// Its process has crashed.
    ///
    /// - Parameters:
    ///   - isAlone: Whether it ran nothing else.
    ///   - hasRunLong: Whether the attempt had run for ``OutboxStanding/longRun``.
    case crash(isAlone: Bool, hasRunLong: Bool)
    /// It has given the row back, its lease has ended, or its computer has.
    case release
  }

  /// An attempt that has run for so long has not crashed its process.
  package static let longRun = Duration.seconds(30)

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

  /// Whether an attempt was made before.
  package var isRepeat: Bool { self.attempts > 0 }

  /// Since when it is due, or when it will be, by `CLOCK_BOOTTIME` of the boot of a time. 0: it waits
  /// for no time, or has never been tried and its time has come.
  package func dueBoottime(_ now: OutboxTime) -> Int64 {
    guard let delay = self.wait.delay else { return 0 }
    return !self.isRepeat && delay.remaining(now) == 0 ? 0 : delay.dueBoottime(now)
  }

  /// Whether it may be sent with others in one call: not if it has failed before, or may have crashed its
  /// process, since then it goes alone, so that what it does shows.
  package var mayGoWithOthers: Bool {
    self.failures == 0 && self.unknownFailures == 0 && self.crashCount == 0 && !self.isSuspect
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
    if failure.isUnknown {
      self.unknownFailures += 1
      if self.unknownSince == nil { self.unknownSince = OutboxAge(from: now) }
    }
    self.maybeApplied = self.maybeApplied || failure.maybeApplied
    (self.crashCount, self.isSuspect) = (0, false)
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
    case .now: self.makeDue(at: now)
    case .wait(let reason, let delay):
      self.makePending(OutboxWait(reason, OutboxDelay(delay, from: now)))
    case .waitForCredentials:
      // If new credentials came while it was refused, it is retried with those.
      if self.credentialsEpoch == credentialsEpoch {
        self.makePending(.credentials)
      } else {
        self.makeDue(at: now)
      }
    case .waitForHandler: self.makePending(.handler)
    case .waitForAlias(let alias):
      switch prospect {
      case .published: self.makeDue(at: now)
      case .awaited: self.makePending(.alias(alias.canonicallyComposed))
      case .vain: return self.kill(.dependency)
      }
    case .retry(_, _, let delay):
      self.makePending(.time(.backoff, OutboxDelay(delay, from: now)))
    case .dead(let reason): return self.kill(reason)
    case .drop: return .ended(.superseded)
    }
    return .pending
  }

  /// After this many crashes of its process a row is not retried.
  private static let maximumCrashes = 5

  /// Takes the row back from a process that no longer runs it.
  ///
  /// - Parameters:
  ///   - loss: Why.
  ///   - now: The time.
  package mutating func lose(_ loss: Loss, at now: OutboxTime) -> Sequel {
    self.maybeApplied = true
    switch loss {
    case .release, .crash(_, hasRunLong: true): break
    case .crash(isAlone: true, _): self.crashCount += 1
    case .crash(isAlone: false, _): self.isSuspect = true
    }
    if self.isCancelRequested { return .ended(.cancelled) }
    if self.crashCount >= Self.maximumCrashes { return self.kill(.crashLoop) }
    self.makePending(.time(.backoff, OutboxDelay(.zero, from: now)))
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

  /// Makes the row pending and due: behind those whose last attempts failed before its own.
  private mutating func makeDue(at now: OutboxTime) {
    let delay = OutboxDelay(endedAt: self.failedAt ?? now.wall.microsecondsSince1970, now)
    self.makePending(self.isRepeat ? .time(.backoff, delay) : .nothing)
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
    if wasDead {
      (self.failures, self.crashCount, self.isSuspect) = (0, 0, false)
      (self.unknownFailures, self.unknownSince) = (0, nil)
    }
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

  /// Lets a row go on that waits for credentials, for a handler, or after a failed connection.
  ///
  /// - Returns: Whether it waited for that.
  package mutating func release(_ reason: MutationWaitReason, at now: OutboxTime) -> Bool {
    guard self.state == .pending else { return false }
    switch (reason, self.wait) {
    case (.authentication, .credentials), (.offline, .time(.offline, _)), (.handler, .handler):
      break
    case (.offline, .time) where self.lastFailure == MutationFailure.connectivity.word: break
    default: return false
    }
    self.makeDue(at: now)
    return true
  }
}
