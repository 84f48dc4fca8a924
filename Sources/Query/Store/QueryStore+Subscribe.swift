import Synchronization

extension QueryStore {
  /// Calls a handler with the state now, and with every event from now on.
  ///
  /// The first subscriber of a store that is stale, and that fetches by itself, starts a fetch,
  /// which is scheduled when this returns. Cancelling the last subscription cancels that fetch.
  ///
  /// - Parameter handler: Receives the events. No call of it begins after the subscription's `cancel()`
  ///   has returned; one that is under way on another thread by then goes on.
  /// - Returns: The subscription. It ends, too, when its last copy is released, and does not keep
  ///   the store alive.
  public func subscribe(with handler: QueryEventHandler<State>) -> QuerySubscription {
    self.subscribe(handler.storeHandler ?? StoreHandler())
  }

  /// Calls a closure with the state now, and with every state from now on.
  ///
  /// ```swift
  /// let subscription = store.subscribe { state in show(state.currentValue) }
  /// ```
  /// It is `subscribe(with:)` with a handler that has `onStateChanged` alone: the same subscription,
  /// and the same rules for the calls.
  ///
  /// - Parameter onStateChanged: Called with the state after each change.
  /// - Returns: The subscription, which ends with its last copy.
  public func subscribe(
    _ onStateChanged: @escaping @Sendable (State) -> Void
  ) -> QuerySubscription {
    self.subscribe(
      with: QueryEventHandler<State>(onStateChanged: { state, _ in onStateChanged(state) }))
  }

  /// How many subscriptions there are. Handlers that are given to a fetch do not count.
  public var subscriberCount: Int { self.withLock { self.subscribers } }

  func subscribe(_ handler: StoreHandler<State>) -> QuerySubscription {
    let (mailbox, isFirst) = self.withLock {
      // The current state comes first, for this handler alone.
      let first = EventLink<State>()
      first.fill(
        with: StoreEvent(.stateChanged, state: self.visibleState, context: self._context),
        next: self.ownLogEnd()
      )
      // This thread alone makes the first call, so that it is over when this returns.
      let mailbox = EventMailbox(handler: handler, position: first, isClaimed: true)
      self.add(mailbox)
      self.subscribers += 1
      self.leaveRetirement()
      self.aftermath.actions.append { mailbox.deliverClaimed() }
      if self.subscribers == 1 { self.aftermath.actions += self.attendanceHandlers }
      return (mailbox, self.subscribers == 1)
    }
    if isFirst { self.startAutomaticFetch() }
    return QuerySubscription { [weak self] in
      mailbox.cancel()
      self?.unsubscribe(mailbox)
    }
  }

  /// Fetches if the store does so by itself, is stale, and has subscribers.
  func startAutomaticFetch() {
    // Whether the value is stale is not known before it is hydrated.
    if self.putsOffAutomaticFetch() { return }
    // It evaluates the user's conditions, so it does not happen under the lock.
    guard self.isAutomaticFetchingEnabled else { return }
    let task = self.makeTaskIfStale {
      self.isAutomaticFetchPutOff = false
      // All subscribers may have left while the value was read or the conditions were evaluated.
      guard self.subscribers > 0 else { return nil }
      let task = self.makeTask(in: self._context, name: .fetch)
      self.automaticFetches.append(task)
      return task
    }
    if let task { task.start(in: task.context) }
  }

  /// Schedules a fetch if the value is stale. One that comes while that is found out is looked at, too, so
  /// that no fetch is made for what another one has just brought.
  ///
  /// - Parameter make: Schedules it, under the lock; nil: it is not wanted any more.
  func makeTaskIfStale(
    _ make: () -> QueryTask<State.QueryValue>?
  ) -> QueryTask<State.QueryValue>? {
    while true {
      let seen = self.lookAtAge()
      guard seen.isStale else { return nil }
      let made = self.withLock { () -> QueryTask<State.QueryValue>?? in
        let isSeen = self.tag.number == seen.number && self._state.valueLastUpdatedAt == seen.date
        return isSeen ? .some(make()) : nil
      }
      if let made { return made }
    }
  }

  private func putsOffAutomaticFetch() -> Bool {
    self.withLock {
      let isPutOff = self.whenHydrated { [weak self] in
        // Several may have been put off, and one fetch is enough.
        guard let self, self.withLock({ self.isAutomaticFetchPutOff }) else { return }
        self.startAutomaticFetch()
      }
      if isPutOff { self.isAutomaticFetchPutOff = true }
      return isPutOff
    }
  }

  /// Calls a handler with every event from now on, without being a subscriber.
  func observe(_ handler: StoreHandler<State>) -> QuerySubscription {
    let mailbox = self.withLock {
      let mailbox = EventMailbox(handler: handler, position: self.ownLogEnd())
      self.add(mailbox)
      return mailbox
    }
    return QuerySubscription { [weak self] in
      mailbox.cancel()
      self?.withLock { self?.remove(mailbox) }
    }
  }

  /// Calls a handler, after the store's lock, when the first subscriber has come, when the last one has
  /// left, and when a call or a fetch has ended that may never have begun. Another thread may have changed that
  /// again by then. For as long as the store lives.
  package func onAttendanceChange(_ handler: @escaping @Sendable () -> Void) {
    self.withLock { self.attendanceHandlers.append(handler) }
  }

  /// Tells of a fetch or a call that is over, of which no event may tell. The caller holds the lock.
  func tellOfUse() { self.aftermath.actions += self.attendanceHandlers }

  /// Calls a handler when a fetch has ended, after the store has taken its result.
  package func observeFetchEnds(_ handler: @escaping @Sendable () -> Void) -> QuerySubscription {
    self.observe(StoreHandler(onFetchingEnded: { _ in handler() }))
  }

  /// Keeps subscriptions for as long as the store lives.
  func keep(_ subscriptions: [QuerySubscription]) {
    self.withLock {
      self.controllerSubscription = self.controllerSubscription.joined(with: subscriptions)
    }
  }

  /// How many fetches have begun and not ended. The caller holds the lock.
  var runningFetches: Int { self.fetches.all.count { $0.hasStarted } }

  /// Whether the store has subscribers, is loading, or has a caller who will see whether it has to load.
  @usableFromInline
  var isUsed: Bool {
    self.withLock { self.subscribers > 0 || self._state.isLoading || self.callers > 0 }
  }

  /// The store counts as used until ``endUse()``.
  func beginUse() {
    self.withLock {
      self.callers += 1
      self.tellOfFetchInRetirement()
    }
  }

  /// Ends what ``beginUse()`` began.
  func endUse() {
    self.withLock {
      self.callers -= 1
      self.tellOfUse()
    }
  }

  /// Calls a handler, after the store's lock, when ``isUsed`` may have changed. For as long as the store
  /// lives.
  @usableFromInline
  func onUseChange(_ handler: @escaping @Sendable () -> Void) {
    self.onAttendanceChange(handler)
    let observation = self.observe(
      StoreHandler(
        onFetchingStarted: { _ in handler() },
        onFetchingEnded: { _ in handler() }))
    self.keep([observation])
  }

  /// Lets a cache give the store up, if nobody subscribes to it.
  ///
  /// - Parameter comeBack: Called if somebody subscribes to it later, so that there is no second store of the
  ///   path beside one with subscribers, and if somebody fetches.
  /// - Returns: Whether nobody does.
  @usableFromInline
  func retire(_ comeBack: @escaping ComeBack) -> Bool {
    self.withLock { self.retire(comeBack, unless: self.subscribers > 0) }
  }

  /// Lets a cache give the store up, if nobody uses it, without waiting for its lock.
  ///
  /// - Parameter comeBack: As that of ``retire(_:)``.
  /// - Returns: Whether nobody does; nil if another thread holds the lock.
  @usableFromInline
  func retireIfUnused(_ comeBack: @escaping ComeBack) -> Bool? {
    guard self.lock.tryLock() else { return nil }
    self.lockDepth += 1
    defer { self.leave() }
    return self.retire(comeBack, unless: self.isUsed)
  }

  /// The caller holds the lock.
  private func retire(_ comeBack: @escaping ComeBack, unless isUsed: Bool) -> Bool {
    if isUsed { return false }
    if let old = self.comeBack { self.aftermath.actions.append { withExtendedLifetime(old) {} } }
    self.comeBack = comeBack
    self.isRetired.store(true, ordering: .sequentiallyConsistent)
    return true
  }

  /// Calls a closure at the next subscription, unless the cache has given the store up again.
  @usableFromInline
  func comeBackLater(_ comeBack: @escaping ComeBack) {
    self.withLock { if self.comeBack == nil { self.comeBack = comeBack } }
  }

  /// The caller holds the lock.
  private func leaveRetirement() {
    guard let comeBack = self.comeBack else { return }
    self.comeBack = nil
    self.isRetired.store(false, ordering: .sequentiallyConsistent)
    self.aftermath.actions.append { comeBack(.subscription) }
  }

  /// Tells a cache that has given the store up that it fetches. The caller holds the lock.
  @usableFromInline
  func tellOfFetchInRetirement() {
    if let comeBack = self.comeBack { self.aftermath.actions.append { comeBack(.fetch) } }
  }

  private func unsubscribe(_ mailbox: EventMailbox<State>) {
    // The tasks are released after the lock.
    let (tasks, ends) = self.withLock {
      () -> ([QueryTask<State.QueryValue>], [@Sendable () -> Void]) in
      self.remove(mailbox)
      self.subscribers -= 1
      guard self.subscribers == 0 else { return ([], []) }
      self.aftermath.actions += self.attendanceHandlers
      let tasks = self.automaticFetches
      self.automaticFetches = []
      return (tasks, tasks.compactMap { TaskCancellation($0).takeByStore() })
    }
    for end in ends { end() }
    withExtendedLifetime(tasks) {}
  }
}
