/// One fetch of a store: it runs the request, and feeds its results into the state.
// @unchecked: the variables below `link` are guarded by the store's lock.
@usableFromInline
final class StoreFetch<State: QueryStateProtocol>: TaskRunOwner, @unchecked Sendable {
  @usableFromInline typealias Value = State.QueryValue

  // Released when the fetch ends, so that a context or a continuation that outlives it does not
  // keep the store alive.
  @usableFromInline let link: Locked<QueryStore<State>?>

  /// The task, as the state scheduled it.
  @exclusivity(unchecked) @usableFromInline var task: QueryTask<Value>?
  @exclusivity(unchecked) @usableFromInline var generation = 0
  @exclusivity(unchecked) @usableFromInline var hasStarted = false
  @exclusivity(unchecked) @usableFromInline var isFinished = false

  @inlinable
  init(store: QueryStore<State>) { self.link = Locked(store) }

  @inlinable
  var store: QueryStore<State>? { self.link.withLock { $0 } }
}

// MARK: - Running

extension StoreFetch {
  @inlinable
  func run(in context: QueryContext) async throws -> Value {
    guard let store = self.store else { throw CancellationError() }
    self.start(store, in: context)
    let continuation = QueryContinuation<Value> { result, yieldContext in
      self.yield(result, in: yieldContext, workContext: context)
    }
    do {
      let value = try await store.request(context, continuation)
      self.finish(store, with: .success(value), in: context)
      return value
    } catch {
      self.finish(store, with: .failure(error), in: context)
      throw error
    }
  }

  @inlinable
  func start(_ store: QueryStore<State>, in context: QueryContext) {
    store.withLock {
      guard self.generation == store.generation else { return }
      self.hasStarted = true
      store.emit(.fetchingStarted, in: context)
    }
  }

  @inlinable
  func finish(
    _ store: QueryStore<State>,
    with result: Result<Value, any Error>,
    in context: QueryContext
  ) {
    store.withLock {
      self.isFinished = true
      if self.generation == store.generation, let task = self.task {
        store._state.update(with: result, for: task)
        store._state.finishFetchTask(task)
        store.didReceive(result)
        if !store.mailboxes.isEmpty {
          store.emit(.resultReceived, in: context.with(.returnedFinalResult), result: result)
        }
        store.emit(.stateChanged, in: context)
      }
      if self.hasStarted { store.emit(.fetchingEnded, in: context) }
    }
    self.letGo()
  }

  @usableFromInline
  func yield(
    _ result: Result<Value, any Error>,
    in yieldContext: QueryContext?,
    workContext: QueryContext
  ) {
    let isTaken =
      self.store.map { store in
        store.withLock {
          guard !self.isFinished else { return false }
          guard self.generation == store.generation, let task = self.task else { return true }
          let context = self.eventContext(yieldContext, workContext).with(.yieldedResult)
          store._state.update(with: result, for: task)
          store.didReceive(result)
          store.emit(.resultReceived, in: context, result: result)
          store.emit(.stateChanged, in: context)
          return true
        }
      } ?? false
    if !isTaken { QueryWarning.queryYieldedAfterReturning(result).report() }
  }

  /// The context of a yield, as one of this fetch.
  private func eventContext(
    _ yieldContext: QueryContext?,
    _ workContext: QueryContext
  ) -> QueryContext {
    guard var context = yieldContext else { return workContext }
    context.takeTask(of: workContext)
    return context
  }

  @inlinable
  func letGo() {
    let store = self.link.withLock { link in
      defer { link = nil }
      return link
    }
    withExtendedLifetime(store) {}
  }
}

// MARK: - TaskRunOwner

extension StoreFetch {
  @usableFromInline
  func defersCancellation(of run: TaskRun) -> Bool {
    self.store?.isDeferred { run.cancel() } ?? false
  }

  @usableFromInline
  func didEndUnrun(isDropped: Bool) {
    guard let store = self.store else { return }
    // A copy of the task that is released inside the store's lock, in a state's method for example,
    // must not change the state right away.
    if store.isDeferred({ self.didEndUnrun(isDropped: isDropped) }) { return }
    store.withLock {
      self.isFinished = true
      guard self.generation == store.generation, let task = self.task else { return }
      if !isDropped {
        store._state.update(with: .failure(CancellationError()), for: task)
        store.storing?.stateDidChange(store._state, in: store._context)
      }
      store._state.finishFetchTask(task)
      store.emit(.stateChanged, in: task.context)
    }
    self.letGo()
  }

  @usableFromInline
  func afterLock(_ action: @escaping @Sendable () -> Void) {
    if self.store?.isDeferred(action) != true { action() }
  }

}

// MARK: - Reports

extension StoreFetch {
  /// Whether any handler could want events that the request reports itself.
  @inlinable
  var hasHandlers: Bool {
    guard let store = self.store else { return false }
    return store.withLock { !store.mailboxes.isEmpty }
  }

  /// Passes an event of the request's, of a page for example, to the store's handlers.
  ///
  /// - Parameters:
  ///   - event: The event, which only the handlers' types know.
  ///   - isEnd: Whether it ends something that began, and so comes even after a reset.
  ///   - context: The context of the event.
  /// - Returns: Whether the event was taken, rather than dropped after a reset.
  @inlinable
  @discardableResult
  func report(_ event: any Sendable, isEnd: Bool, in context: QueryContext) -> Bool {
    guard let store = self.store else { return false }
    return store.withLock {
      guard !self.isFinished, isEnd || self.generation == store.generation else { return false }
      store.emit(.reported, in: context, report: event)
      return true
    }
  }
}

extension QueryStore {
  /// Records a result of a fetch that the state has taken. The caller holds the lock.
  @inlinable
  func didReceive(_ result: Result<State.QueryValue, any Error>) {
    if case .success = result { self.valueOrigin = .network }
    self.storing?.stateDidChange(self._state, in: self._context)
  }

  /// Defers an action if this thread already holds the lock.
  ///
  /// - Returns: Whether it did.
  @usableFromInline
  func isDeferred(_ action: @escaping @Sendable () -> Void) -> Bool {
    // If another thread has the lock, this one does not.
    guard self.lock.tryLock() else { return false }
    defer { self.lock.unlock() }
    guard self.lockDepth > 0 else { return false }
    self.aftermath.actions.append(action)
    return true
  }
}
