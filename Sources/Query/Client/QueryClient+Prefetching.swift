extension QueryClient {
  /// Fetches a query whose value is stale, so that it is there when it is needed. Errors are left in
  /// its store.
  ///
  /// - Parameter query: The query. Its store is the one that `store(for:)` returns.
  public func prefetch<Query: QueryRequest>(_ query: Query) async
  where Query.State == QueryState<Query.Value?, Query.Value> {
    await self.store(for: query).prefetch()
  }

  /// Fetches a query with a default value, if it is stale. Errors are left in its store.
  ///
  /// - Parameter query: The query.
  public func prefetch<Query: _DefaultValueRequest>(_ query: Query) async {
    await self.store(for: query).prefetch()
  }

  /// Fetches the known pages of an infinite query, or its first page if none is known, if it is stale.
  /// Errors are left in its store.
  ///
  /// - Parameter query: The query.
  @_disfavoredOverload
  public func prefetch<Query: InfiniteQueryRequest>(_ query: Query) async {
    await self.store(for: query).prefetch()
  }
}

extension QueryClient {
  /// The value of a query: the one that its store has, however old, or else a fetched one.
  ///
  /// - Parameter query: The query.
  /// - Returns: The value.
  /// - Throws: What the query throws; `CancellationError` if the task is cancelled, or the store's fetches are,
  ///   before the stored value is there.
  public func ensureValue<Query: QueryRequest>(
    for query: Query
  ) async throws -> Query.Value where Query.State == QueryState<Query.Value?, Query.Value> {
    let store = self.store(for: query)
    store.beginUse()
    defer { store.endUse() }
    let takings = try await store.hydratedOrCancelled()
    // Edits that are shown without a value from the server are no value.
    if let value = store.baseValue { return value }
    return try await store.fetch(unlessTakenSince: takings)
  }

  /// The value of a query with a default value: the one that its store has, unless that is the default,
  /// or else a fetched one.
  ///
  /// - Parameter query: The query.
  /// - Returns: The value.
  /// - Throws: What the query throws; `CancellationError` if the task is cancelled, or the store's fetches are,
  ///   before the stored value is there.
  public func ensureValue<Query: _DefaultValueRequest>(
    for query: Query
  ) async throws -> Query.State.StateValue {
    let store = self.store(for: query)
    store.beginUse()
    defer { store.endUse() }
    let takings = try await store.hydratedOrCancelled()
    if store.valueUpdateCount == 0 { _ = try await store.fetch(unlessTakenSince: takings) }
    return store.baseValue
  }

  /// The pages of an infinite query: those that its store has, or else the first one, fetched.
  ///
  /// - Parameter query: The query.
  /// - Returns: The pages.
  /// - Throws: What the query throws; `CancellationError` if the task is cancelled, or the store's fetches are,
  ///   before the stored value is there.
  @_disfavoredOverload
  public func ensureValue<Query: InfiniteQueryRequest>(
    for query: Query
  ) async throws -> Query.State.StateValue {
    let store = self.store(for: query)
    store.beginUse()
    defer { store.endUse() }
    let takings = try await store.hydratedOrCancelled()
    if store.baseValue.isEmpty { _ = try await store.fetch(unlessTakenSince: takings) }
    return store.baseValue
  }
}

extension QueryStore {
  /// Returns when the stored value is there, if there is one. A task that is cancelled meanwhile does not know
  /// of any: it must not take it for missing.
  ///
  /// - Returns: The ``takings`` before.
  fileprivate func hydratedOrCancelled() async throws -> Int {
    let takings = self.withLock { self.takings }
    await self.hydrated()
    if Task.isCancelled, self.isHydrating { throw CancellationError() }
    return takings
  }

  fileprivate func prefetch() async {
    self.beginUse()
    defer { self.endUse() }
    guard let takings = try? await self.hydratedOrCancelled() else { return }
    let task = self.makeTaskIfStale { self.task(unlessTakenSince: takings) }
    _ = try? await task?.value(isolation: #isolation)
  }

  /// Fetches, unless a reset or a cancellation has taken all fetches meanwhile.
  fileprivate func fetch(unlessTakenSince takings: Int) async throws -> State.QueryValue {
    let task = self.withLock { self.task(unlessTakenSince: takings) }
    guard let task else { throw CancellationError() }
    return try await task.value(isolation: #isolation)
  }

  /// The caller holds the lock.
  private func task(unlessTakenSince takings: Int) -> QueryTask<State.QueryValue>? {
    self.takings == takings ? self.makeTask(in: self._context, name: .fetch) : nil
  }
}
