extension QueryClient {
  /// What makes the stores of a client.
  public protocol StoreCreator: Sendable {
    /// Makes a store. The client keeps it.
    ///
    /// - Parameters:
    ///   - query: The request.
    ///   - context: The context to start with.
    ///   - initialState: The state to start with.
    /// - Returns: A store, with whatever modifiers the creator adds to the request.
    func store<Query: QueryRequest>(
      for query: Query,
      in context: QueryContext,
      with initialState: Query.State
    ) -> QueryStore<Query.State>
  }

  /// Makes stores that retry; those of queries also deduplicate, fetch by themselves, and refetch
  /// when the network or the application comes back.
  public struct DefaultStoreCreator: StoreCreator {
    @usableFromInline let defaults: ClientDefaults

    @inlinable
    public func store<Query: QueryRequest>(
      for query: Query,
      in context: QueryContext,
      with initialState: Query.State
    ) -> QueryStore<Query.State> {
      self.store(
        for: query, at: query.path,
        begunWith: self.defaults.applied(to: context, of: Query.State.self), with: initialState)
    }

    /// - Parameters:
    ///   - path: The path of the request.
    ///   - context: A context with the defaults.
    @inlinable
    func store<Query: QueryRequest>(
      for query: Query,
      at path: QueryPath,
      begunWith context: QueryContext,
      with initialState: Query.State
    ) -> QueryStore<Query.State> {
      let query = query.modifier(_RetryModifier(limit: nil))
      // Skips writes, and fetches of a state whose differences the library does not know.
      guard Query.State._isDeduplicatedByClients else {
        return .detached(
          query: query, at: path, initialState: initialState, initialContext: context)
      }
      return .detached(
        query: query.deduplicated(),
        at: path,
        initialState: initialState,
        initialContext: context
      )
    }
  }
}

// MARK: - Making one

extension QueryClient.StoreCreator where Self == QueryClient.DefaultStoreCreator {
  /// The creator of `QueryClient()`.
  ///
  /// - Parameters:
  ///   - retryLimit: How many times a failed fetch is retried.
  ///   - backoff: The waits between retries; nil to use the context's.
  ///   - delayer: Does the waiting; nil to use the context's.
  ///   - queryEnableAutomaticFetchingCondition: When queries fetch by themselves. Mutations never
  ///     do.
  ///   - networkObserver: Lets queries refetch when the network comes back.
  ///   - activityObserver: Lets queries refetch when the application becomes active.
  public static func `default`(
    retryLimit: Int = 3,
    backoff: QueryBackoffFunction? = nil,
    delayer: (any QueryDelayer)? = nil,
    queryEnableAutomaticFetchingCondition: any FetchCondition = .always(true),
    networkObserver: (any NetworkObserver)? = QueryClient.defaultNetworkObserver,
    activityObserver: (any ApplicationActivityObserver)? =
      QueryClient.defaultApplicationActivityObserver
  ) -> QueryClient.DefaultStoreCreator {
    QueryClient.DefaultStoreCreator(
      defaults: ClientDefaults(
        retryLimit: retryLimit,
        backoff: backoff,
        delayer: delayer,
        automaticFetchingCondition: queryEnableAutomaticFetchingCondition,
        refetchCondition: ClientDefaults.refetchCondition(networkObserver, activityObserver),
        networkObserver: networkObserver,
        activityObserver: activityObserver
      )
    )
  }

  /// The creator of `QueryClient()`: that of a program, and inside tests ``defaultTesting``.
  @usableFromInline
  static var ofThisProcess: QueryClient.DefaultStoreCreator {
    TestDetection.isTesting ? .defaultTesting : .default()
  }

  /// The creator of `QueryClient()` inside tests: nothing is retried, delayed, or observed.
  public static var defaultTesting: QueryClient.DefaultStoreCreator {
    .default(
      retryLimit: 0,
      backoff: .noBackoff,
      delayer: .noDelay,
      networkObserver: nil,
      activityObserver: nil
    )
  }
}

// MARK: - Defaults

/// What the default creator writes into the context of each store.
@usableFromInline
final class ClientDefaults: Sendable {
  let retryLimit: Int
  let backoff: QueryBackoffFunction?
  let delayer: (any QueryDelayer)?
  let automaticFetchingCondition: any FetchCondition
  let refetchCondition: AnyFetchCondition?
  let networkObserver: (any NetworkObserver)?
  let activityObserver: (any ApplicationActivityObserver)?

  init(
    retryLimit: Int,
    backoff: QueryBackoffFunction?,
    delayer: (any QueryDelayer)?,
    automaticFetchingCondition: any FetchCondition,
    refetchCondition: AnyFetchCondition?,
    networkObserver: (any NetworkObserver)?,
    activityObserver: (any ApplicationActivityObserver)?
  ) {
    self.retryLimit = retryLimit
    self.backoff = backoff
    self.delayer = delayer
    self.automaticFetchingCondition = automaticFetchingCondition
    self.refetchCondition = refetchCondition
    self.networkObserver = networkObserver
    self.activityObserver = activityObserver
  }

  /// Connected and active; a condition without an observer is left out.
  static func refetchCondition(
    _ networkObserver: (any NetworkObserver)?,
    _ activityObserver: (any ApplicationActivityObserver)?
  ) -> AnyFetchCondition? {
    let isConnected = networkObserver.map { Self.connected(to: $0) }
    let isActive = activityObserver.map { Self.isActive(by: $0) }
    if let isConnected, let isActive { return AnyFetchCondition(isConnected && isActive) }
    return isConnected ?? isActive
  }

  private static func connected(to observer: some NetworkObserver) -> AnyFetchCondition {
    AnyFetchCondition(.connected(to: observer))
  }

  private static func isActive(
    by observer: some ApplicationActivityObserver
  ) -> AnyFetchCondition {
    AnyFetchCondition(.applicationIsActive(observer: observer))
  }
}

extension ClientDefaults {
  /// A context with the defaults for stores of a state type.
  ///
  /// - Parameters:
  ///   - base: The context that they are written into.
  ///   - state: The type.
  @usableFromInline
  func applied<State: QueryStateProtocol>(
    to base: QueryContext, of state: State.Type
  ) -> QueryContext {
    var context = base
    QueryStore<State>.dropNotes(in: &context)
    context.addRetryLayer(limit: self.retryLimit, isDefault: true)
    if let backoff = self.backoff { context.queryBackoffFunction = backoff }
    if let delayer = self.delayer { context.queryDelayer = delayer }
    guard State._isFetchedAutomatically else { return context }
    context.enableAutomaticFetchingCondition = self.automaticFetchingCondition
    if let condition = self.refetchCondition {
      context.queryControllers.append(
        _RefetchOnChangeController<State, AnyFetchCondition>(condition: condition)
      )
    }
    return context
  }
}
