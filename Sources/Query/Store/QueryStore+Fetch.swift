extension QueryStore {
  /// Fetches the value.
  ///
  /// - Parameters:
  ///   - configuration: What the fetch runs with. One made without a context is laid over the
  ///     store's, any other replaces it.
  ///   - handler: Receives all events of the store until this call returns.
  /// - Returns: What the request returned.
  /// - Throws: What the request threw; `CancellationError` if the fetch was cancelled.
  @inlinable
  @discardableResult
  public func fetch(
    using configuration: QueryTaskConfiguration? = nil,
    handler: QueryEventHandler<State> = QueryEventHandler()
  ) async throws -> State.QueryValue {
    try await self.run(
      in: self.taskContext(configuration),
      name: .fetch,
      handler: handler.storeHandler
    )
  }

  /// Fetches the value.
  ///
  /// - Parameters:
  ///   - context: What the fetch runs with, instead of the store's context.
  ///   - handler: Receives all events of the store until this call returns.
  /// - Returns: What the request returned.
  /// - Throws: What the request threw; `CancellationError` if the fetch was cancelled.
  @inlinable
  @discardableResult
  public func fetch(
    using context: QueryContext,
    handler: QueryEventHandler<State> = QueryEventHandler()
  ) async throws -> State.QueryValue {
    try await self.run(in: context, name: .fetch, handler: handler.storeHandler)
  }

  /// Schedules a fetch without starting it. The store is loading from now on.
  ///
  /// - Parameter configuration: What the fetch runs with. One made without a context is laid over
  ///   the store's, any other replaces it.
  /// - Returns: The task. It ends if all copies of it are released before it ran.
  @discardableResult
  public func fetchTask(
    using configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<State.QueryValue> {
    self.makeTask(in: self.taskContext(configuration), name: .fetch, isRunAtOnce: false).held()
  }

  /// Schedules a fetch without starting it. The store is loading from now on.
  ///
  /// - Parameter context: What the fetch runs with, instead of the store's context.
  /// - Returns: The task. It ends if all copies of it are released before it ran.
  @discardableResult
  public func fetchTask(using context: QueryContext) -> QueryTask<State.QueryValue> {
    self.makeTask(in: context, name: .fetch, isRunAtOnce: false).held()
  }
}

// MARK: - Tasks

extension QueryStore {
  @inlinable
  func taskContext(_ configuration: QueryTaskConfiguration?) -> QueryContext {
    let context = self.withLock { self._context }
    return configuration?.context(over: context) ?? context
  }

  /// Makes a task and lets the state schedule it.
  ///
  /// - Parameters:
  ///   - eventContext: The context of the fetch, and of the event that tells of it.
  ///   - name: The task's name, if the context has none.
  ///   - isRunAtOnce: Whether it shares what ends before it has come to share: one that somebody runs later
  ///     is to bring what is there then.
  ///   - edit: Adds to the context what the event does not show.
  /// - Returns: The task, which its caller must run, or hold.
  @inlinable
  func makeTask(
    in eventContext: QueryContext,
    name: TaskNames.Kind,
    isRunAtOnce: Bool = true,
    edit: (inout QueryContext) -> Void = { _ in }
  ) -> QueryTask<State.QueryValue> {
    let fetch = StoreFetch(store: self)
    let run = TypedTaskRun<State.QueryValue>(owner: fetch) { _, context in
      try await fetch.run(in: context)
    }
    var base = eventContext
    if self.isOfAnotherStore(base) { self.adopt(&base) }
    return self.withLock {
      var context = self.taskContext(of: base, name: name)
      if name == .fetch { context.forgetInfiniteFetchKind() }
      edit(&context)
      var task = QueryTask(context: context, run: run, holder: nil)
      self._state.scheduleFetchTask(&task)
      fetch.task = task
      fetch.generation = self.generation
      if let table = task.context.deduplicationTable(of: State.QueryValue.self) {
        fetch.table = table
        fetch.isBesideAnother = !self.fetches.isEmpty
        if isRunAtOnce { table.expect(fetch) }
      }
      self.fetches.append(fetch)
      self.tellOfFetchInRetirement()
      self.emitScheduled(in: eventContext)
      return task
    }
  }

  /// Tells the handlers that the store loads, by a context that belongs to no task yet. The caller holds the lock.
  @inlinable
  func emitScheduled(in context: QueryContext) {
    let isOwn = self.followedEvents.isEmpty || context.isIdentical(to: self._context)
    self.emit(.stateChanged, in: isOwn ? context : context.withoutTask)
  }

  @inlinable
  func run(
    in context: QueryContext,
    name: TaskNames.Kind,
    handler: StoreHandler<State>?,
    edit: (inout QueryContext) -> Void = { _ in }
  ) async throws -> State.QueryValue {
    guard let handler else {
      return try await self.makeTask(in: context, name: name, edit: edit)
        .value(isolation: #isolation)
    }
    let mailbox = self.withLock {
      let mailbox = EventMailbox(handler: handler, position: self.ownLogEnd())
      self.add(mailbox)
      return mailbox
    }
    let result: Result<State.QueryValue, any Error>
    do {
      let task = self.makeTask(in: context, name: name, edit: edit)
      result = .success(try await task.value(isolation: #isolation))
    } catch {
      result = .failure(error)
    }
    self.withLock {
      self.remove(mailbox)
      mailbox.stop(before: self.ownLogEnd())
    }
    // Another thread may still be on the way to the handler with the last event.
    await mailbox.waitUntilDelivered()
    return try result.get()
  }

  @inlinable
  func ownReference() -> StoreReference {
    if let reference = self.reference { return reference }
    let reference = StoreReference(self)
    self.reference = reference
    return reference
  }

  @usableFromInline
  func ownTaskNames() -> TaskNames {
    if let names = self.taskNames { return names }
    let names = TaskNames.of(QueryStore<State>.self)
    self.taskNames = names
    return names
  }
}

extension QueryTask {
  @inlinable
  func value(isolation: isolated (any Actor)?) async throws -> Value {
    try await self.typedRun.value(in: self.context, isolation: isolation)
  }
}
