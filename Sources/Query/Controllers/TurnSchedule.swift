/// When stores are to be refetched, or evicted: one timer for all.
///
/// Locking: `plan` is read and written under its lock. No action is called under it.
final class TurnSchedule: Sendable {
  /// The time, and waiting for it; a test has its own.
  struct Time: Sendable {
    /// The continuous clock, which goes on while the machine sleeps.
    var now: @Sendable () -> ContinuousClock.Instant = { .now }
    var sleep: @Sendable (ContinuousClock.Instant) async throws -> Void = {
      try await ContinuousClock().sleep(until: $0)
    }
  }

  /// One store's turn.
  private struct Turn {
    let deadline: ContinuousClock.Instant
    /// How much earlier it may come, so that it shares a wake-up with others.
    let slack: Duration
    let action: @Sendable () -> Void
  }

  private struct Plan {
    var turns = [ObjectIdentifier: Turn]()
    /// How many owners have turns again and again.
    var members = 0
    var wakeup: (time: ContinuousClock.Instant, task: Task<Void, Never>)?
  }

  /// That of the process.
  static let shared = TurnSchedule()

  let time: Time
  private let plan = Locked(Plan())
  /// The beginning of all periods.
  private let epoch: ContinuousClock.Instant

  init(time: Time = Time()) {
    self.time = time
    self.epoch = time.now()
  }

  /// How many turns are set.
  var count: Int { self.plan.withLock { $0.turns.count } }

  /// Counts an owner that has turns again and again: with a second one, they come into step.
  ///
  /// - Returns: What ends it.
  func join() -> QuerySubscription {
    self.plan.withLock { $0.members += 1 }
    return QuerySubscription { self.plan.withLock { $0.members -= 1 } }
  }

  /// Sets the turn of a store that has one each period, counted from the end of what it did in the last.
  ///
  /// What stores do takes time, so their turns would drift apart. If there are several, one comes at a
  /// multiple of its period if it may, and as early as it may if not, until it does: after ten periods
  /// at most, all stores with one period share a wake-up.
  ///
  /// - Parameters:
  ///   - owner: Whose turn it is. An earlier one of it is replaced.
  ///   - deadline: When the action is called at the latest. It is called a tenth of the period before
  ///     that at the earliest.
  ///   - period: How long it is from the end of one turn to the next.
  ///   - action: Called once.
  func set(
    _ owner: AnyObject, at deadline: ContinuousClock.Instant, every period: Duration,
    _ action: @escaping @Sendable () -> Void
  ) {
    let slack = period / 10
    let isAlone = self.plan.withLock { $0.members < 2 }
    let time = isAlone ? deadline : self.inStep(from: deadline - slack, to: deadline, every: period)
    // What would be early in its own period is not called earlier still for another one's.
    self.set(owner, at: time, slack: slack - (deadline - time), action)
  }

  /// The last multiple of a period in a span, or the span's begin if it has none.
  private func inStep(
    from begin: ContinuousClock.Instant, to end: ContinuousClock.Instant, every period: Duration
  ) -> ContinuousClock.Instant {
    let periods = ((end - self.epoch) / period).rounded(.down)
    return max(begin, self.epoch + period * periods)
  }

  /// Sets the turn of a store.
  ///
  /// - Parameters:
  ///   - owner: Whose turn it is. An earlier one of it is replaced.
  ///   - deadline: When the action is called.
  ///   - slack: How much earlier it may be called, together with another store's.
  ///   - action: Called once.
  func set(
    _ owner: AnyObject, at deadline: ContinuousClock.Instant, slack: Duration,
    _ action: @escaping @Sendable () -> Void
  ) {
    let key = ObjectIdentifier(owner)
    self.plan.withLock { plan in
      plan.turns[key] = Turn(deadline: deadline, slack: slack, action: action)
      self.wake(&plan, by: deadline)
    }
  }

  /// Takes back the turn of a store.
  func remove(_ owner: AnyObject) {
    let key = ObjectIdentifier(owner)
    let removed = self.plan.withLock { plan in
      let removed = plan.turns.removeValue(forKey: key)
      // Nothing wakes a program up in which no store has a turn.
      if plan.turns.isEmpty {
        plan.wakeup?.task.cancel()
        plan.wakeup = nil
      }
      return removed
    }
    withExtendedLifetime(removed) {}
  }

  private func wake(_ plan: inout Plan, by time: ContinuousClock.Instant) {
    if let wakeup = plan.wakeup, wakeup.time <= time { return }
    plan.wakeup?.task.cancel()
    let sleep = self.time.sleep
    let task = Task { [weak self] in
      do { try await sleep(time) } catch { return }
      self?.callWhoseTurnItIs(at: time)
    }
    plan.wakeup = (time, task)
  }

  private func callWhoseTurnItIs(at time: ContinuousClock.Instant) {
    let now = self.time.now()
    let due = self.plan.withLock { plan -> [Turn] in
      // A later call has replaced this one.
      guard plan.wakeup?.time == time else { return [] }
      plan.wakeup = nil
      let due = plan.turns.filter { $0.value.deadline - $0.value.slack <= now }
      for key in due.keys { plan.turns[key] = nil }
      if let next = plan.turns.values.lazy.map(\.deadline).min() { self.wake(&plan, by: next) }
      return due.values.sorted { $0.deadline < $1.deadline }
    }
    for turn in due { turn.action() }
  }
}

extension MockQueryClock {
  /// The turns of stores by this clock.
  fileprivate var turnSchedule: TurnSchedule {
    self.turns.withLock { turns in
      if let schedule = turns as? TurnSchedule { return schedule }
      let start = ContinuousClock.now
      var time = TurnSchedule.Time()
      time.now = { [weak self] in start + (self?.elapsed ?? .zero) }
      time.sleep = { [weak self] in
        guard let self else { throw CancellationError() }
        try await self.sleep(until: $0 - start)
      }
      let schedule = TurnSchedule(time: time)
      turns = schedule
      return schedule
    }
  }
}

extension QueryContext {
  /// What schedules periodic refetches, and the eviction of stores by age.
  var turnSchedule: TurnSchedule {
    get { self[TurnScheduleKey.self] ?? self.mockClock?.turnSchedule ?? .shared }
    set { self[TurnScheduleKey.self] = newValue }
  }

  private enum TurnScheduleKey: Key {
    static var defaultValue: TurnSchedule? { nil }
  }
}
