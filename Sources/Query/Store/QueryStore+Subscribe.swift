extension QueryStore {
  /// Calls a handler with the state now, and with every event from now on.
  ///
  /// The first subscriber of a store that is stale, and that fetches by itself, starts a fetch,
  /// which is scheduled when this returns. Cancelling the last subscription cancels that fetch.
  ///
  /// - Parameter handler: Receives the events.
  /// - Returns: The subscription. It ends, too, when its last copy is released, and does not keep
  ///   the store alive.
  public func subscribe(with handler: QueryEventHandler<State>) -> QuerySubscription {
    self.subscribe(handler.storeHandler ?? StoreHandler())
  }

  /// How many subscriptions there are. Handlers that are given to a fetch do not count.
  public var subscriberCount: Int { self.withLock { self.subscribers } }

  func subscribe(_ handler: StoreHandler<State>) -> QuerySubscription {
    let (mailbox, isFirst) = self.withLock {
      // The current state comes first, for this handler alone.
      let first = EventLink<State>()
      first.fill(
        with: StoreEvent(.stateChanged, state: self._state, context: self._context),
        next: self.ownLogEnd()
      )
      // This thread alone makes the first call, so that it is over when this returns.
      let mailbox = EventMailbox(handler: handler, position: first, isClaimed: true)
      self.mailboxes.append(mailbox)
      self.subscribers += 1
      self.aftermath.actions.append { mailbox.deliverClaimed() }
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
    let isPutOff = self.whenHydrated { [weak self] in
      // Several may have been deferred, and one fetch is enough.
      guard let self, self.withLock({ self.automaticFetch == nil }) else { return }
      self.startAutomaticFetch()
    }
    if isPutOff { return }
    // Both evaluate the user's conditions, so neither happens under the lock.
    guard self.isAutomaticFetchingEnabled, self.isStale else { return }
    let task = self.makeTask(in: self.context, name: .fetch)
    let isWanted = self.withLock {
      guard self.subscribers > 0 else { return false }
      self.automaticFetch = task
      return true
    }
    // All subscribers may have left while the conditions were evaluated.
    if isWanted { task.start(in: task.context) } else { task.cancel() }
  }

  private func unsubscribe(_ mailbox: EventMailbox<State>) {
    let task = self.withLock {
      self.mailboxes.removeAll { $0 === mailbox }
      self.subscribers -= 1
      guard self.subscribers == 0 else { return nil as QueryTask<State.QueryValue>? }
      defer { self.automaticFetch = nil }
      return self.automaticFetch
    }
    task?.cancel()
  }
}
