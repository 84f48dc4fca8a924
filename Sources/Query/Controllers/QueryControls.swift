/// What a ``QueryController`` may do to a store.
///
/// It does not keep the store alive. Once the store is gone, its members but for ``path`` report
/// ``QueryWarning/controllerDeallocatedStoreAccess(stateType:)`` and do nothing, or return what the
/// store was created with.
public struct QueryControls<State: QueryStateProtocol>: Sendable {
  /// What all copies share: with a state in it, each would be looked up in the runtime to be copied.
  private final class Shared: Sendable {
    weak let store: QueryStore<State>?
    let path: QueryPath
    let initialContext: QueryContext
    let initialState: State

    init(_ store: QueryStore<State>, _ initialContext: QueryContext, _ initialState: State) {
      self.store = store
      self.path = store.path
      self.initialContext = initialContext
      self.initialState = initialState
    }
  }

  private let shared: Shared

  init(store: QueryStore<State>, initialContext: QueryContext, initialState: State) {
    self.shared = Shared(store, initialContext, initialState)
  }

  /// The path of the store's request, also once the store is gone, and then without a warning: a store
  /// never has another one.
  public var path: QueryPath { self.shared.path }

  /// The store if it is still alive; no warning if it is not.
  package var livingStore: QueryStore<State>? { self.shared.store }

  private var store: QueryStore<State>? {
    if let store = self.livingStore { return store }
    QueryWarning.controllerDeallocatedStoreAccess(stateType: State.self).report()
    return nil
  }
}

// MARK: - Reading

extension QueryControls {
  /// The context of the store.
  public var context: QueryContext { self.store?.context ?? self.shared.initialContext }

  /// The state of the store.
  public var state: State { self.store?.state ?? self.shared.initialState }

  /// Whether an automatic fetch would be due.
  public var isStale: Bool {
    if let store = self.store { return store.isStale }
    return self.shared.initialContext.staleWhenRevalidateCondition.evaluate(
      state: self.shared.initialState,
      in: self.shared.initialContext
    )
  }

  /// How many subscriptions the store has.
  public var subscriberCount: Int { self.store?.subscriberCount ?? 0 }

  /// Whether a refetch can be yielded: whether the store fetches by itself.
  public var canYieldRefetch: Bool { self.store?.isAutomaticFetchingEnabled ?? false }
}

// MARK: - Yielding

extension QueryControls {
  /// Sets a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - context: Supplies the clock and is the context of the event; nil to use the store's.
  public func yield(_ value: State.StateValue, using context: QueryContext? = nil) {
    self.yield(with: .success(value), using: context)
  }

  /// Sets an error.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - context: Supplies the clock and is the context of the event; nil to use the store's.
  public func yield(throwing error: any Error, using context: QueryContext? = nil) {
    self.yield(with: .failure(error), using: context)
  }

  /// Sets a value or an error.
  ///
  /// - Parameters:
  ///   - result: The value or the error.
  ///   - context: Supplies the clock and is the context of the event; nil to use the store's.
  public func yield(
    with result: Result<State.StateValue, any Error>,
    using context: QueryContext? = nil
  ) {
    self.store?.setResult(to: result, using: context)
  }

  /// Goes back to a fresh state.
  ///
  /// - Parameter context: The context of the event; nil to use the store's.
  public func yieldReset(using context: QueryContext? = nil) {
    self.store?.reset(using: context)
  }

  /// Fetches the value, if the store fetches by itself.
  ///
  /// - Parameter configuration: What the fetch runs with, as for ``QueryStore``'s `fetch`.
  /// - Returns: The value, or `nil` if the store does not fetch by itself.
  /// - Throws: What the request throws.
  @discardableResult
  public func yieldRefetch(
    with configuration: QueryTaskConfiguration? = nil
  ) async throws -> State.QueryValue? {
    try await self.yieldRefetchTask(with: configuration)?.runIfNeeded()
  }

  /// Fetches the value with a context instead of the store's, if the store fetches by itself.
  @discardableResult
  public func yieldRefetch(with context: QueryContext) async throws -> State.QueryValue? {
    try await self.yieldRefetchTask(with: context)?.runIfNeeded()
  }

  /// Schedules a fetch, if the store fetches by itself.
  ///
  /// - Parameter configuration: What the fetch runs with, as for ``QueryStore``'s `fetchTask`.
  /// - Returns: The task, or `nil` if the store does not fetch by itself.
  @discardableResult
  public func yieldRefetchTask(
    with configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<State.QueryValue>? {
    self.refetchingStore?.fetchTask(using: configuration)
  }

  /// Schedules a fetch with a context instead of the store's, if the store fetches by itself.
  @discardableResult
  public func yieldRefetchTask(with context: QueryContext) -> QueryTask<State.QueryValue>? {
    self.refetchingStore?.fetchTask(using: context)
  }

  private var refetchingStore: QueryStore<State>? {
    guard let store = self.store, store.isAutomaticFetchingEnabled else { return nil }
    return store
  }

  /// Gives exclusive access to the store. See ``QueryStore/withExclusiveAccess(_:)``.
  ///
  /// - Parameter fn: Runs under the store's lock, so it must not wait for another thread.
  public func withExclusiveAccess<T>(
    _ fn: (QueryControls<State>) throws -> sending T
  ) rethrows -> sending T {
    guard let store = self.store else { return try fn(self) }
    store.enter()
    defer { store.leave() }
    return try fn(self)
  }
}
