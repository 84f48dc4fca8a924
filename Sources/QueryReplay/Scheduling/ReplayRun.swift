import FoundationEssentials
import Query

/// One run of a replayer: it leases what is due, starts it, and waits for more.
///
/// Attempts are child tasks of the run: cancelling that cancels them, and it ends when the last one is
/// settled.
final class ReplayRun: Sendable {
  /// When a run ends, unless it is cancelled.
  enum Ending: Sendable {
    /// Nothing.
    case never
    /// That nothing is due, or that this time has come.
    case whenNothingIsDue(by: Duration?)
  }

  private enum Step {
    case end
    case wait(until: Duration)
    /// The outbox failed: only the time ends this wait.
    case recover(until: Duration)
  }

  private struct Guarded {
    var tally = ReplayTally()
    var running = 0
    var failures = 0
    var lastNews: ReplayEvent?
  }

  private let parts: ReplayParts
  private let ending: Ending
  private let signal = AsyncSignal()
  private let guarded = Locked(Guarded())

  init(_ parts: ReplayParts, until ending: Ending) {
    self.parts = parts
    self.ending = ending
  }

  /// Runs.
  ///
  /// - Throws: `CancellationError`, once the attempts are cancelled and settled; if the run ends by
  ///   itself, `StorageError` too.
  func run() async throws {
    let subscriptions = self.subscribe()
    defer { subscriptions.cancel() }
    let failure = await withDiscardingTaskGroup { group -> (any Error)? in
      defer { group.cancelAll() }
      do {
        try await self.loop(&group)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }

  /// What it has done.
  ///
  /// - Throws: `StorageError`.
  func summary() throws -> ReplaySummary {
    let pending = try self.parts.outbox.counts.pending
    return self.guarded.withLock { $0.tally.summary(pending: pending) }
  }
}

// MARK: - Waiting

extension ReplayRun {
  private func loop(_ group: inout DiscardingTaskGroup) async throws {
    while true {
      try Task.checkCancellation()
      if self.isTimeUp { return }
      switch try await self.step(&group) {
      case .end: return
      case .wait(let time): await self.signal.wait(until: self.notAfterEnd(time), by: self.clock)
      case .recover(let time): try await self.clock.sleep(self.notAfterEnd(time))
      }
    }
  }

  private var clock: ReplayClock { self.parts.clock }

  private var isOnce: Bool {
    if case .whenNothingIsDue = self.ending { true } else { false }
  }

  private var isTimeUp: Bool {
    guard case .whenNothingIsDue(let deadline?) = self.ending else { return false }
    return self.clock.now() >= deadline
  }

  private func notAfterEnd(_ time: Duration) -> Duration {
    guard case .whenNothingIsDue(let deadline?) = self.ending else { return time }
    return min(time, deadline)
  }

  private func subscribe() -> QuerySubscription {
    let (parts, signal) = (self.parts, self.signal)
    let outbox = parts.outbox.subscribe { event in
      if Self.isNews(event, to: parts.ledger) { signal.wake() }
    }
    let network = parts.network?.subscribe { status in
      if status < parts.requiredStatus { parts.ledger.noteOffline() }
      signal.wake()
    }
    return .combined([outbox, parts.ledger.subscribe(signal)] + (network.map { [$0] } ?? []))
  }

  /// Whether an event may make something due. The ledger reports the attempts that this replayer
  /// runs, so events of those are ignored.
  private static func isNews(_ event: OutboxEvent, to ledger: ReplayLedger) -> Bool {
    switch event {
    case .claimed, .erased: false
    case .enqueued, .changedByAnotherProcess, .reaped, .released, .discarded: true
    case .pending(let id), .succeeded(let id), .dead(let id, _), .cancelled(let id),
      .superseded(let id, _):
      !ledger.isRunning(id)
    }
  }

  /// Tells the listeners what the run waits for, once.
  private func announce(_ news: ReplayEvent) {
    let isNew = self.guarded.withLock { run in
      defer { run.lastNews = news }
      return run.lastNews != news
    }
    if isNew { self.parts.events.send(news) }
  }
}

// MARK: - Claiming

extension ReplayRun {
  private func step(_ group: inout DiscardingTaskGroup) async throws -> Step {
    self.parts.ledger.countTurn()
    let poll = self.clock.now() + self.parts.configuration.pollInterval
    guard self.parts.isOnline else {
      self.parts.ledger.noteOffline()
      self.announce(.waiting(.network))
      return self.isOnce && self.isIdle ? .end : .wait(until: poll)
    }
    self.parts.ledger.noteOnline()
    do {
      try await self.release()
      let step = try await self.claim(&group, poll)
      self.guarded.withLock { $0.failures = 0 }
      return step
    } catch {
      try Task.checkCancellation()
      if self.isOnce { throw error }
      self.announce(.waiting(.storage(RestoredError(error))))
      return .recover(until: self.clock.now() + self.nextRecovery())
    }
  }

  /// Whether no attempt of this run runs.
  private var isIdle: Bool { self.guarded.withLock { $0.running == 0 } }

  /// Releases rows that wait for credentials if the replayer is new, and rows that wait for the
  /// network if it has come back.
  private func release() async throws {
    var reasons = self.parts.ledger.takeReleases()
    defer { self.parts.ledger.giveBack(reasons) }
    for reason in reasons {
      try await self.parts.outbox.release(reason)
      reasons.remove(reason)
    }
  }

  private func claim(_ group: inout DiscardingTaskGroup, _ poll: Duration) async throws -> Step {
    let ledger = self.parts.ledger
    let handlers = self.parts.registry().handlers
    let isRepeating = self.guarded.withLock { $0.tally.isRepeating }
    let (isDone, isUsedUp) = (self.isOnce && isRepeating, ledger.isUsedUp)
    if handlers.isEmpty || isDone || isUsedUp {
      return (self.isOnce || isUsedUp) && self.isIdle ? .end : .wait(until: poll)
    }
    // An attempt that ends during the claim may free more than the answer shows.
    let wasIdle = ledger.isIdle
    guard let request = ledger.beginClaim(handlers) else {
      return .wait(until: min(poll, ledger.nextSlot ?? poll))
    }
    let answer: ClaimAnswer
    do {
      answer = try await self.parts.outbox.claim(request)
    } catch {
      ledger.endClaim([], wakingBut: self.signal)
      throw error
    }
    // Before an attempt can end.
    ledger.endClaim(answer.leases.map(\.entry), wakingBut: self.signal)
    self.start(answer, in: &group)
    return try self.step(after: answer, wasIdle: wasIdle, poll)
  }

  /// Starts what was leased; if the run has been cancelled meanwhile, the attempt gives the lease
  /// back.
  private func start(_ answer: ClaimAnswer, in group: inout DiscardingTaskGroup) {
    let ids = answer.leases.map(\.entry.id)
    self.guarded.withLock { run in
      run.tally.noteExpired(answer.expired)
      run.running += ids.count
      if self.isOnce { run.tally.noteBegin(of: ids) }
      if !ids.isEmpty { run.lastNews = nil }
    }
    for lease in answer.leases {
      group.addTask { await self.attempt(lease) }
    }
  }

  private func step(
    after answer: ClaimAnswer, wasIdle: Bool, _ poll: Duration
  ) throws -> Step {
    let ledger = self.parts.ledger
    let now = self.clock.now()
    let nextSlot = ledger.nextSlot
    let isIdle = wasIdle && ledger.isIdle
    if answer.leases.isEmpty, isIdle, nextSlot == nil {
      if self.isOnce { return .end }
      let counts = try self.parts.outbox.counts
      let isDrained = counts.pending == 0 && counts.leased == 0
      self.announce(isDrained ? .drained : .waiting(.outbox))
    }
    // A row that is due and was not leased waits for another attempt to end.
    let nextDue = answer.nextDue.flatMap { $0 > .zero ? now + $0 : nil }
    return .wait(until: min(poll, nextSlot ?? poll, nextDue ?? poll))
  }

  private func nextRecovery() -> Duration {
    let failures = self.guarded.withLock { run in
      run.failures += 1
      return run.failures
    }
    return self.parts.recovery(after: failures)
  }
}

// MARK: - Attempts

extension ReplayRun {
  private func attempt(_ lease: MutationLease) async {
    let id = lease.entry.id
    let report = await LeasedAttempt(lease: lease, parts: self.parts).run()
    self.guarded.withLock { run in
      run.running -= 1
      if self.isOnce { run.tally.note(report, of: id) }
    }
    if let event = ReplayEvent(report, of: id) { self.parts.events.send(event) }
    // An attempt cancelled with this run says nothing about its host.
    let answer = Task.isCancelled ? .nothing : HostAnswer(report)
    let isFirstAnswer = answer == .answered && self.parts.ledger.isProbe(id)
    let counts = isFirstAnswer ? try? self.parts.outbox.counts : nil
    self.parts.ledger.end(id, answer, waiting: counts?.pending ?? 0)
  }
}
