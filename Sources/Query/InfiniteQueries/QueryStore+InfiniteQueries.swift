extension QueryStore where State: _InfiniteQueryStateProtocol {
  /// Fetches all loaded pages again, the first one first. The list is replaced when all are there.
  ///
  /// - Parameters:
  ///   - configuration: What the fetch runs with. One made without a context is laid over the
  ///     store's, any other replaces it.
  ///   - handler: Receives all events of the store until this call returns.
  /// - Returns: The pages that were fetched.
  /// - Throws: What the request threw; `CancellationError` if the fetch was cancelled.
  @inlinable
  @discardableResult
  public func fetchAllPages(
    using configuration: QueryTaskConfiguration? = nil,
    handler: InfiniteQueryEventHandler<State.PageID, State.PageValue> = .init()
  ) async throws -> InfiniteQueryPages<State.PageID, State.PageValue> {
    try await self.fetchAllPages(using: self.taskContext(configuration), handler: handler)
  }

  /// Fetches all loaded pages again, with a context instead of the store's.
  ///
  /// See ``fetchAllPages(using:handler:)-(QueryTaskConfiguration?,_)``.
  @inlinable
  @discardableResult
  public func fetchAllPages(
    using context: QueryContext,
    handler: InfiniteQueryEventHandler<State.PageID, State.PageValue> = .init()
  ) async throws -> InfiniteQueryPages<State.PageID, State.PageValue> {
    try await self.run(.allPages, in: context, handler).allPages
  }

  /// Fetches the page after the last one, or the initial one if no page is loaded.
  ///
  /// - Parameters:
  ///   - configuration: What the fetch runs with. One made without a context is laid over the
  ///     store's, any other replaces it.
  ///   - handler: Receives all events of the store until this call returns.
  /// - Returns: The page that was fetched, or `nil` if there is none left.
  /// - Throws: What the request threw; `CancellationError` if the fetch was cancelled.
  @inlinable
  @discardableResult
  public func fetchNextPage(
    using configuration: QueryTaskConfiguration? = nil,
    handler: InfiniteQueryEventHandler<State.PageID, State.PageValue> = .init()
  ) async throws -> InfiniteQueryPage<State.PageID, State.PageValue>? {
    try await self.fetchNextPage(using: self.taskContext(configuration), handler: handler)
  }

  /// Fetches the page after the last one, with a context instead of the store's.
  ///
  /// See ``fetchNextPage(using:handler:)-(QueryTaskConfiguration?,_)``.
  @inlinable
  @discardableResult
  public func fetchNextPage(
    using context: QueryContext,
    handler: InfiniteQueryEventHandler<State.PageID, State.PageValue> = .init()
  ) async throws -> InfiniteQueryPage<State.PageID, State.PageValue>? {
    guard self.withLock({ self._state.hasNextPage }) else { return nil }
    return try await self.run(.nextPage, in: context, handler).page
  }

  /// Fetches the page before the first one, or the initial one if no page is loaded.
  ///
  /// - Parameters:
  ///   - configuration: What the fetch runs with. One made without a context is laid over the
  ///     store's, any other replaces it.
  ///   - handler: Receives all events of the store until this call returns.
  /// - Returns: The page that was fetched, or `nil` if there is none left.
  /// - Throws: What the request threw; `CancellationError` if the fetch was cancelled.
  @inlinable
  @discardableResult
  public func fetchPreviousPage(
    using configuration: QueryTaskConfiguration? = nil,
    handler: InfiniteQueryEventHandler<State.PageID, State.PageValue> = .init()
  ) async throws -> InfiniteQueryPage<State.PageID, State.PageValue>? {
    try await self.fetchPreviousPage(using: self.taskContext(configuration), handler: handler)
  }

  /// Fetches the page before the first one, with a context instead of the store's.
  ///
  /// See ``fetchPreviousPage(using:handler:)-(QueryTaskConfiguration?,_)``.
  @inlinable
  @discardableResult
  public func fetchPreviousPage(
    using context: QueryContext,
    handler: InfiniteQueryEventHandler<State.PageID, State.PageValue> = .init()
  ) async throws -> InfiniteQueryPage<State.PageID, State.PageValue>? {
    guard self.withLock({ self._state.hasPreviousPage }) else { return nil }
    return try await self.run(.previousPage, in: context, handler).page
  }

  @inlinable
  func run(
    _ kind: InfiniteFetchKind,
    in context: QueryContext,
    _ handler: InfiniteQueryEventHandler<State.PageID, State.PageValue>
  ) async throws -> State.QueryValue {
    try await self.run(
      in: context,
      name: kind.taskName,
      handler: handler.storeHandler(for: State.self)
    ) { $0.infiniteFetchKind = kind }
  }
}

// MARK: - Tasks

extension QueryStore where State: _InfiniteQueryStateProtocol {
  /// Schedules a fetch of all loaded pages without starting it.
  ///
  /// - Parameter configuration: What the fetch runs with, as for `fetchAllPages`.
  @discardableResult
  public func fetchAllPagesTask(
    using configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<InfiniteQueryPages<State.PageID, State.PageValue>> {
    self.fetchAllPagesTask(using: self.taskContext(configuration))
  }

  /// Schedules a fetch of all loaded pages without starting it, with a context of its own.
  @discardableResult
  public func fetchAllPagesTask(
    using context: QueryContext
  ) -> QueryTask<InfiniteQueryPages<State.PageID, State.PageValue>> {
    self.task(.allPages, in: context).map(\.allPages)
  }

  /// Schedules a fetch of the next page without starting it. If there is none left, the task
  /// returns `nil` and the store does not know of it.
  ///
  /// - Parameter configuration: What the fetch runs with, as for `fetchNextPage`.
  @discardableResult
  public func fetchNextPageTask(
    using configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<InfiniteQueryPage<State.PageID, State.PageValue>?> {
    self.fetchNextPageTask(using: self.taskContext(configuration))
  }

  /// Schedules a fetch of the next page without starting it, with a context of its own.
  @discardableResult
  public func fetchNextPageTask(
    using context: QueryContext
  ) -> QueryTask<InfiniteQueryPage<State.PageID, State.PageValue>?> {
    guard self.withLock({ self._state.hasNextPage }) else { return self.noPageTask(in: context) }
    return self.task(.nextPage, in: context).map(\.page)
  }

  /// Schedules a fetch of the previous page without starting it. If there is none left, the task
  /// returns `nil` and the store does not know of it.
  ///
  /// - Parameter configuration: What the fetch runs with, as for `fetchPreviousPage`.
  @discardableResult
  public func fetchPreviousPageTask(
    using configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<InfiniteQueryPage<State.PageID, State.PageValue>?> {
    self.fetchPreviousPageTask(using: self.taskContext(configuration))
  }

  /// Schedules a fetch of the previous page without starting it, with a context of its own.
  @discardableResult
  public func fetchPreviousPageTask(
    using context: QueryContext
  ) -> QueryTask<InfiniteQueryPage<State.PageID, State.PageValue>?> {
    guard self.withLock({ self._state.hasPreviousPage }) else {
      return self.noPageTask(in: context)
    }
    return self.task(.previousPage, in: context).map(\.page)
  }

  private func task(
    _ kind: InfiniteFetchKind,
    in context: QueryContext
  ) -> QueryTask<State.QueryValue> {
    self.makeTask(in: context, name: kind.taskName, isRunAtOnce: false) {
      $0.infiniteFetchKind = kind
    }
    .held()
  }

  private func noPageTask(
    in context: QueryContext
  ) -> QueryTask<InfiniteQueryPage<State.PageID, State.PageValue>?> {
    QueryTask(context: context) { _, _ in nil }
  }
}

extension InfiniteFetchKind {
  @inlinable
  var taskName: TaskNames.Kind {
    switch self {
    case .allPages: .allPages
    case .nextPage: .nextPage
    case .previousPage: .previousPage
    }
  }
}

extension InfiniteQueryValue {
  /// The pages of a fetch of all pages.
  @inlinable
  var allPages: InfiniteQueryPages<PageID, PageValue> {
    if case .allPages(let pages) = self.fetchValue { return pages }
    // A modifier may answer with a value of its own choice.
    return self.page.map { [$0] } ?? []
  }
}

// MARK: - Subscribing

extension QueryStore where State: _InfiniteQueryStateProtocol {
  /// Calls a handler with the state now, and with every event from now on.
  ///
  /// See ``subscribe(with:)-(QueryEventHandler<State>)`` for when that starts a fetch.
  ///
  /// - Parameter handler: Receives the events.
  public func subscribe(
    with handler: InfiniteQueryEventHandler<State.PageID, State.PageValue>
  ) -> QuerySubscription {
    self.subscribe(handler.storeHandler(for: State.self) ?? StoreHandler())
  }
}

// MARK: - Detached

extension QueryStore {
  /// Creates a store that no client knows, for an infinite query.
  ///
  /// - Parameters:
  ///   - query: The request.
  ///   - initialValue: The pages before the first fetch.
  ///   - initialContext: The context that the request sets up.
  @_disfavoredOverload
  @inlinable
  public static func detached<Query: InfiniteQueryRequest>(
    query: Query,
    initialValue: Query.State.StateValue = [],
    initialContext: QueryContext = QueryContext()
  ) -> QueryStore<InfiniteQueryState<Query.PageID, Query.PageValue>>
  where State == InfiniteQueryState<Query.PageID, Query.PageValue> {
    .detached(
      query: query,
      initialState: InfiniteQueryState(
        initialValue: initialValue,
        initialPageId: query.initialPageId
      ),
      initialContext: initialContext
    )
  }
}
