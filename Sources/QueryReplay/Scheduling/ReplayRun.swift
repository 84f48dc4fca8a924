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
    /// Nil: until an attempt ends, or something else that is signalled happens.
    case wait(until: Duration?)
    /// The outbox failed: only the time ends this wait.
    case recover(until: Duration)
  }

  private struct Guarded {
    var tally = ReplayTally()
    var running = 0
    var failures = 0
    var lastNews: ReplayEvent?
    /// The handlers for which the listeners were last told which kinds have none; nil: not told yet.
    var toldHandlers: Set<MutationHandler>?
    var toldKinds = Set<UnhandledRows.Kind>()
    /// What was enqueued since the last turn, while there are listeners.
    var newRows = [UUID]()
    /// The attempts that run.
    var watch = LinkWatch()
  }

  /// A claim of one turn.
  private struct Round {
    var handlers: Set<MutationHandler>
    /// Whether it leases probes alone, because there may be no network.
    var isProbing: Bool
    /// What is leased together: a probe is one mutation.
    var batchLimits = [MutationHandler: Int]()
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
    let counts = try self.parts.outbox.counts
    // Its own attempts are settled: what is leased still, others send.
    let left = counts.pending + counts.leased
    return self.guarded.withLock { $0.tally.summary(left: left) }
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
      case .wait(let time):
        if let time = Self.earliest(time, self.end) {
          await self.signal.wait(until: time, by: self.clock)
        } else {
          await self.signal.wait()
        }
      case .recover(let time): try await self.clock.sleep(time)
      }
    }
  }

  private var clock: ReplayClock { self.parts.clock }

  private var isOnce: Bool {
    if case .whenNothingIsDue = self.ending { true } else { false }
  }

  /// When it ends, whatever is left; nil: at no time.
  private var end: Duration? {
    if case .whenNothingIsDue(let deadline) = self.ending { deadline } else { nil }
  }

  private var isTimeUp: Bool { self.end.map { self.clock.now() >= $0 } ?? false }

  private static func earliest(_ times: Duration?...) -> Duration? {
    times.compactMap { $0 }.min()
  }

  private func subscribe() -> QuerySubscription {
    let (parts, signal) = (self.parts, self.signal)
    let outbox = parts.outbox.subscribe { [weak self] event in
      if case .enqueued(let id) = event, parts.events.hasListeners {
        // If there are more, all rows are counted instead.
        self?.guarded.withLock {
          if $0.newRows.count <= Self.mostReadAlone { $0.newRows.append(id) }
        }
      }
      self?.count(event)
      if Self.isNews(event, to: parts.ledger) { signal.wake() }
    }
    let isKnown = Locked(false)
    let network = parts.network?.subscribe { status in
      let isNews = isKnown.withLock { isKnown in
        defer { isKnown = true }
        return isKnown
      }
      // If the network is reported as up once more, it was down in between, or has changed.
      if isNews || status < parts.requiredStatus { parts.ledger.noteOffline() }
      signal.wake()
    }
    return .combined([outbox, parts.ledger.subscribe(signal)] + (network.map { [$0] } ?? []))
  }

  /// Counts what ends while none of this replayer's attempts runs it: the end of one mutation may be that
  /// of others.
  private func count(_ event: OutboxEvent) {
    guard self.isOnce else { return }
    switch event {
    case .dead(let id, let reason) where !self.parts.ledger.isRunning(id):
      // A claim counts those that it has found too old.
      self.guarded.withLock { run in
        if reason == .expired { run.tally.noteEnd(of: id) } else { run.tally.noteDeath(of: id) }
      }
    case .succeeded(let id), .cancelled(let id), .superseded(let id, _):
      if !self.parts.ledger.isRunning(id) { self.guarded.withLock { $0.tally.noteEnd(of: id) } }
    default: break
    }
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

  /// Tells the listeners what the run is waiting for, once for each wait.
  private func announce(_ news: ReplayEvent) {
    let isNew = self.guarded.withLock { run in
      defer { run.lastNews = news }
      return run.lastNews != news
    }
    if isNew { self.parts.events.send(news) }
  }
}

// MARK: - Rows without a handler

extension ReplayRun {
  /// How many new rows are read one by one; of more than that, and at the beginning and for other
  /// handlers, the kinds of all are counted instead.
  private static let mostReadAlone = 64

  /// Tells the listeners which kinds of mutations wait because no handler is registered, each kind once for
  /// a set of handlers.
  private func tellUnhandled() throws {
    let (new, told) = self.guarded.withLock { run in
      defer { run.newRows = [] }
      return (run.newRows, run.toldHandlers)
    }
    guard self.parts.events.hasListeners else { return }
    let handlers = self.parts.registry().handlers
    let isAll = told != handlers
    if !isAll, new.isEmpty { return }
    let outbox = self.parts.outbox
    let rows =
      isAll || new.count > Self.mostReadAlone
      ? UnhandledRows(try outbox.pendingKinds(), handlers: handlers)
      : UnhandledRows(
        try new.compactMap { try outbox.entry($0) }.filter { $0.state == .pending },
        handlers: handlers)
    let untold = self.guarded.withLock { run in
      if isAll { (run.toldHandlers, run.toldKinds) = (handlers, []) }
      return rows.kinds.filter { run.toldKinds.insert($0.kind).inserted }
    }
    for (kind, count) in untold {
      self.parts.events.send(.unhandled(name: kind.name, version: kind.version, count: count))
    }
  }
}

// MARK: - Claiming

extension ReplayRun {
  private func step(_ group: inout DiscardingTaskGroup) async throws -> Step {
    self.parts.ledger.countTurn()
    // Whatever a single replay waits for is signalled: it has attempts under way.
    let poll = self.isOnce ? nil : self.clock.now() + self.parts.configuration.pollInterval
    let reach = self.parts.reach
    if reach == .everywhere {
      self.parts.ledger.noteOnline()
      self.giveUpWhatHangs()
    } else {
      self.parts.ledger.noteOffline()
    }
    do {
      // A failure of what only listeners need does not end the run.
      try? self.tellUnhandled()
      if reach == .everywhere { try await self.release() }
      let step = try await self.claim(&group, poll, reach)
      let look = self.guarded.withLock { run in
        run.failures = 0
        return run.watch.next
      }
      guard reach == .everywhere, case .wait(let time) = step, let look else { return step }
      return .wait(until: Self.earliest(time, look))
    } catch {
      try Task.checkCancellation()
      if self.isOnce { throw error }
      self.announce(.waiting(.storage(RestoredError(error))))
      return .recover(until: self.clock.now() + self.nextRecovery())
    }
  }

  /// Whether no attempt of this run is under way.
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

  private func claim(
    _ group: inout DiscardingTaskGroup, _ poll: Duration?, _ reach: ReplayParts.Reach
  ) async throws -> Step {
    let ledger = self.parts.ledger
    let registry = self.parts.registry()
    let handlers = registry.handlers
    let isRepeating = self.guarded.withLock { $0.tally.isRepeating }
    let (isDone, isUsedUp) = (self.isOnce && isRepeating, ledger.isUsedUp)
    if handlers.isEmpty || isDone || isUsedUp {
      return (self.isOnce || isUsedUp) && self.isIdle ? .end : .wait(until: poll)
    }
    // An attempt that ends during the claim may free more than the answer shows.
    let wasIdle = ledger.checkIdle()
    var all = ClaimAnswer()
    for round in Self.rounds(registry, reach) {
      guard let answer = try await self.claim(round, in: &group) else {
        return .wait(until: Self.earliest(poll, ledger.nextSlot))
      }
      all.leases += answer.leases
      all.nextDue = [all.nextDue, answer.nextDue].compactMap { $0 }.min()
      all.isPartial = all.isPartial || answer.isPartial
    }
    if all.isPartial { return .wait(until: self.clock.now()) }
    return reach == .everywhere
      ? try self.step(after: all, wasIdle: wasIdle, poll)
      : try self.step(afterOffline: all, wasIdle: wasIdle, poll)
  }

  private static func rounds(_ registry: HandlerRegistry, _ reach: ReplayParts.Reach) -> [Round] {
    let (all, free) = (registry.handlers, registry.handlersWhileOffline)
    let rounds =
      switch reach {
      case .everywhere: [Round(handlers: all, isProbing: false)]
      case .toPortal: [Round(handlers: free, isProbing: false)]
      case .perhapsNowhere:
        [
          Round(handlers: free, isProbing: false),
          Round(handlers: all.subtracting(free), isProbing: true),
        ]
      }
    return rounds.filter { !$0.handlers.isEmpty }.map { round in
      var round = round
      if !round.isProbing { round.batchLimits = registry.batchLimits }
      return round
    }
  }

  /// - Returns: Nil if there is no room, or another run is claiming.
  private func claim(
    _ round: Round, in group: inout DiscardingTaskGroup
  ) async throws -> ClaimAnswer? {
    let ledger = self.parts.ledger
    guard
      let request = ledger.beginClaim(
        round.handlers, isProbing: round.isProbing, batchLimits: round.batchLimits)
    else { return nil }
    // If an attempt is leased while the network changes, it may begin on the old network.
    let link = ledger.links
    let answer: ClaimAnswer
    do {
      answer = try await self.parts.outbox.claim(request)
    } catch {
      ledger.endClaim([], isProbing: round.isProbing, wakingBut: self.signal)
      throw error
    }
    // This must come before any of the attempts can end.
    ledger.endClaim(
      answer.leases.map(\.entry), isProbing: round.isProbing, wakingBut: self.signal)
    self.start(answer, isProbing: round.isProbing, link: link, in: &group)
    return answer
  }

  /// Starts what was leased; if the run has been cancelled meanwhile, the attempt gives the lease
  /// back.
  private func start(
    _ answer: ClaimAnswer, isProbing: Bool, link: Int, in group: inout DiscardingTaskGroup
  ) {
    let ids = answer.leases.map(\.entry.id)
    let batches = LeasedBatch.batches(of: answer.leases)
    self.guarded.withLock { run in
      for batch in batches { run.watch.begin(batch.leases, isProbe: isProbing, link: link) }
      run.tally.noteExpired(answer.expired)
      run.running += ids.count
      if self.isOnce { run.tally.noteBegin(of: ids) }
      if !ids.isEmpty { run.lastNews = nil }
    }
    for batch in batches {
      for attempt in batch.attempts(self.parts) {
        group.addTask { await self.attempt(attempt, isProbe: isProbing) }
      }
    }
  }

  private func step(
    afterOffline answer: ClaimAnswer, wasIdle: Bool, _ poll: Duration?
  ) throws -> Step {
    let ledger = self.parts.ledger
    // While a probe is under way, there may be a network.
    if answer.leases.isEmpty, wasIdle, ledger.checkIdle() {
      if self.isOnce { return .end }
      try self.announceRest(.waiting(.network))
    }
    let now = self.clock.now()
    let nextDue = answer.nextDue.flatMap { $0 > .zero ? now + $0 : nil }
    return .wait(until: Self.earliest(poll, ledger.nextSlot, ledger.nextProbe, nextDue))
  }

  private func step(
    after answer: ClaimAnswer, wasIdle: Bool, _ poll: Duration?
  ) throws -> Step {
    let ledger = self.parts.ledger
    let now = self.clock.now()
    let nextSlot = ledger.nextSlot
    let isIdle = wasIdle && ledger.checkIdle()
    if answer.leases.isEmpty, isIdle, nextSlot == nil {
      if self.isOnce { return .end }
      try self.announceRest(.waiting(.outbox))
    }
    // A row that is due and was not leased waits for another attempt to end.
    let nextDue = answer.nextDue.flatMap { $0 > .zero ? now + $0 : nil }
    return .wait(until: Self.earliest(poll, nextSlot, nextDue))
  }

  /// Tells what keeps the rest from being sent, or that there is none.
  private func announceRest(_ wait: ReplayEvent) throws {
    let counts = try self.parts.outbox.counts
    self.announce(counts.pending == 0 && counts.leased == 0 ? .drained : wait)
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
  private func attempt(_ attempt: LeasedAttempt, isProbe: Bool) async {
    let id = attempt.lease.entry.id
    let report = await self.run(attempt, isProbe: isProbe)
    self.guarded.withLock { run in
      run.running -= 1
      run.watch.end(id)
      if self.isOnce { run.tally.note(report, of: id) }
    }
    if let event = ReplayEvent(report, of: id) { self.parts.events.send(event) }
    // If an attempt was cancelled with the run, that says nothing about its host.
    let answer = Task.isCancelled ? .nothing : HostAnswer(report)
    let isFirstAnswer = answer == .answered && self.parts.ledger.isProbe(id)
    let counts = isFirstAnswer ? try? self.parts.outbox.counts : nil
    self.parts.ledger.end(id, answer, waiting: counts?.pending ?? 0)
  }

  private func run(_ attempt: LeasedAttempt, isProbe: Bool) async -> AttemptReport {
    guard isProbe else { return await attempt.run() }
    // The network may have come back before that.
    if self.parts.isOnline { attempt.lease.giveUp() }
    let report = await OfflineProbe.$isRunning.withValue(true) { await attempt.run() }
    self.parts.ledger.noteProbeEnd()
    return report
  }

  /// Ends attempts whose answers were on their way through a network that is gone, and may never come. Their
  /// mutations are due at once.
  private func giveUpWhatHangs() {
    let (link, now) = (self.parts.ledger.links, self.clock.now())
    let leases = self.guarded.withLock { $0.watch.takeHanging(link: link, at: now) }
    for lease in leases { lease.giveUp() }
  }
}
