extension QueryStore {
  /// Cancels what is being fetched, scheduled fetches included, so that none of it arrives from now on: a
  /// value that is set next stays.
  ///
  /// ```swift
  /// store.cancelFetches()
  /// store.currentValue = optimisticValue
  /// try await mutation.mutate(with: arguments)
  /// store.invalidate()
  /// ```
  /// The store is not loading any more when this returns, and the cancellation is not its error. Whoever
  /// waits for one of the fetches gets a `CancellationError`, once its code has noticed. A store whose
  /// fetches are writes, a mutation's, is left alone.
  public func cancelFetches() {
    for end in self.takeCancellationOfFetches() { end() }
  }

  /// Cancels the fetches, as ``TaskRun/takeCancellation()`` does.
  ///
  /// - Returns: What ends them.
  @usableFromInline
  func takeCancellationOfFetches() -> [@Sendable () -> Void] {
    guard State._isFetchedAutomatically else { return [] }
    // The tasks are released after the lock.
    let (tasks, ends) = self.withLock {
      () -> ([QueryTask<State.QueryValue>], [@Sendable () -> Void]) in
      self.takePutOffFetches()
      let fetches = self.fetches.all
      if fetches.isEmpty { return ([], []) }
      let tasks = fetches.compactMap { $0.revoke(in: self) }
      // Work whose first caller has left it is no fetch of the store any more, but of those that share it.
      for fetch in fetches { fetch.source.generation = -1 }
      self.emit(.stateChanged, in: self._context)
      self.tellOfUse()
      return (tasks, tasks.compactMap { $0.run.takeCancellation() })
    }
    withExtendedLifetime(tasks) {}
    return ends
  }
}

extension StoreFetch {
  /// Lets the state forget the fetch, as a reset does. The caller holds the lock.
  ///
  /// - Returns: The task, which the caller cancels after the lock.
  fileprivate func revoke(in store: QueryStore<State>) -> QueryTask<Value>? {
    guard let task, self.generation == store.generation else { return self.task }
    self.putBackReplaced(for: task, in: store)
    store._state.finishFetchTask(task)
    // Of none that the store will ever have.
    self.generation = -1
    return task
  }
}

extension OpaqueQueryStore {
  /// Cancels what is being fetched. See ``QueryStore/cancelFetches()``.
  public func cancelFetches() { self.erased.cancelFetches() }
}
