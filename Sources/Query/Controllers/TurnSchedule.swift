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
    var wakeup: (time: ContinuousClock.Instant, task: Task<Void, Never>)?
  }

  /// That of the process.
  static let shared = TurnSchedule()

  let time: Time
  private let plan = Locked(Plan())

  init(time: Time = Time()) { self.time = time }

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

extension QueryContext {
  /// What schedules periodic refetches, and the eviction of stores by age.
  var turnSchedule: TurnSchedule {
    get { self[TurnScheduleKey.self] }
    set { self[TurnScheduleKey.self] = newValue }
  }

  private enum TurnScheduleKey: Key {
    static var defaultValue: TurnSchedule { .shared }
  }
}
