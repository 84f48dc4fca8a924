public import FoundationEssentials

extension QueryRequest {
  /// Refetches this query again and again, while its store has subscribers and fetches by itself.
  ///
  /// The time begins when the first subscriber comes, and again with the end of each fetch, so that two
  /// never overlap. It goes on while the machine sleeps: a refetch that was missed comes at once. While
  /// the application is inactive, or the network is not as the query needs it (see
  /// ``QueryContext/satisfiedConnectionStatus``), nothing is fetched; what was missed comes once that is
  /// over. Stores share a timer: a refetch may come a tenth of the interval early, together with others.
  ///
  /// - Parameters:
  ///   - interval: How long after the end of a fetch the next one begins.
  ///   - inBackground: Whether it goes on while the application is inactive.
  /// - Precondition: `interval` is positive.
  public func refetch(
    every interval: Duration,
    inBackground: Bool = false
  ) -> ControlledQuery<Self, _PeriodicRefetchController<State>> {
    precondition(
      interval > .zero,
      "\(self._debugTypeName): refetch(every:) takes a positive duration; got \(interval)."
    )
    return self.controlled(
      by: _PeriodicRefetchController(
        interval: min(interval, .longest), continuesInBackground: inBackground))
  }

  /// Refetches this query again and again. See ``refetch(every:inBackground:)-(Duration,_)``.
  ///
  /// - Parameters:
  ///   - seconds: How many seconds after the end of a fetch the next one begins.
  ///   - inBackground: Whether it goes on while the application is inactive.
  /// - Precondition: `seconds` is a positive number.
  public func refetch(
    every seconds: TimeInterval,
    inBackground: Bool = false
  ) -> ControlledQuery<Self, _PeriodicRefetchController<State>> {
    precondition(
      seconds > 0,
      "\(self._debugTypeName): refetch(every:) takes a positive number of seconds; got \(seconds)."
    )
    // A duration has a smallest unit, below which a number is none.
    let interval = max(Duration(clampingSeconds: seconds), .nanoseconds(1))
    return self.refetch(every: interval, inBackground: inBackground)
  }
}

public struct _PeriodicRefetchController<State: QueryStateProtocol>: QueryController {
  let interval: Duration
  let continuesInBackground: Bool

  public func control(with controls: QueryControls<State>) -> QuerySubscription {
    guard let store = controls.livingStore else { return .empty }
    let refetch = PeriodicRefetch(controls, every: self.interval, in: store.context)
    return refetch.follow(store, continuesInBackground: self.continuesInBackground)
  }
}

/// The periodic refetches of one store.
///
/// Locking: `progress` is read and written under its lock, under which the locks of the store and of the
/// schedule may be taken; no fetch begins under it.
private final class PeriodicRefetch<State: QueryStateProtocol>: Sendable {
  private struct Progress {
    var isOnline = true
    var isActive = true
    /// How many fetches are running.
    var fetches = 0
    /// When the next one is due; nil while a fetch runs, and without subscribers. It stays in a pause.
    var deadline: ContinuousClock.Instant?
    var hasEnded = false
  }

  private let controls: QueryControls<State>
  private let interval: Duration
  private let schedule: TurnSchedule
  private let progress = Locked(Progress())

  init(_ controls: QueryControls<State>, every interval: Duration, in context: QueryContext) {
    self.controls = controls
    self.interval = interval
    self.schedule = context.turnSchedule
  }

  func follow(_ store: QueryStore<State>, continuesInBackground: Bool) -> QuerySubscription {
    let context = store.context
    var subscriptions = [
      self.observeFetches(of: store),
      QuerySubscription { self.update { $0.hasEnded = true } },
      self.schedule.join(),
    ]
    store.onAttendanceChange { [weak self] in self?.update { _ in } }
    if let observer = context.networkObserver {
      let needed = context.satisfiedConnectionStatus
      let isOnline = observer.currentStatus >= needed
      self.update { $0.isOnline = isOnline }
      subscriptions.append(
        observer.subscribe { [weak self] status in
          self?.update { $0.isOnline = status >= needed }
        })
    }
    if !continuesInBackground, let observer = context.applicationActivityObserver {
      subscriptions.append(
        observer.subscribe { [weak self] isActive in self?.update { $0.isActive = isActive } })
    }
    return .combined(subscriptions)
  }

  /// Counts the fetches that run, those included that have begun before.
  private func observeFetches(of store: QueryStore<State>) -> QuerySubscription {
    store.withLock {
      // Nobody else has this lock yet.
      self.progress.withLock { $0.fetches = store.runningFetches }
      return store.observe(
        StoreHandler(
          onFetchingStarted: { [weak self] _ in self?.update { $0.fetches += 1 } },
          onFetchingEnded: { [weak self] _ in self?.update { $0.fetches -= 1 } }))
    }
  }

  /// Records a change, and sets the next turn, or takes it back.
  private func update(_ change: @Sendable (inout Progress) -> Void) {
    // Released after the lock: if this is the last reference, the store's end comes here once more.
    let store = self.controls.livingStore
    defer { withExtendedLifetime(store) {} }
    self.progress.withLock { progress in
      change(&progress)
      let isWatched = (store?.subscriberCount ?? 0) > 0
      if progress.hasEnded || !isWatched || progress.fetches > 0 {
        progress.deadline = nil
      } else if progress.deadline == nil {
        progress.deadline = self.schedule.time.now() + self.interval
      }
      if let deadline = progress.deadline, progress.isOnline, progress.isActive {
        self.schedule.set(self, at: deadline, every: self.interval) { self.refetch() }
      } else {
        self.schedule.remove(self)
      }
    }
  }

  private func refetch() {
    // The turn may have been taken back meanwhile.
    let isWanted = self.progress.withLock { progress in
      guard progress.deadline != nil, progress.isOnline, progress.isActive else { return false }
      progress.deadline = nil
      return true
    }
    guard isWanted, let store = self.controls.livingStore else { return }
    let task = self.controls.yieldRefetchTask()
    // It begins the time anew when it ends; if the store does not fetch by itself now, it may later.
    guard let task, store.subscriberCount > 0 else { return self.update { _ in } }
    task.start(in: task.context)
  }
}
