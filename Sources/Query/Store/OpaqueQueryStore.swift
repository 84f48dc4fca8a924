/// A store without the type of its state, so that stores of all kinds can be kept together.
///
/// It is the same store: `base` has its type. A ``QueryClient`` returns them by path.
@dynamicMemberLookup
public final class OpaqueQueryStore: Sendable, QueryPathable {
  @usableFromInline let erased: any ErasedQueryStore

  /// Takes the type of a store away.
  ///
  /// - Parameter base: The store.
  @inlinable
  public init<State: QueryStateProtocol>(erasing base: QueryStore<State>) {
    self.erased = base
  }

  @usableFromInline
  init(erased: any ErasedQueryStore) { self.erased = erased }

  /// The store, to be cast to its type: `store.base as? QueryStore<S>`.
  public var base: any Sendable { self.erased }

  /// The path of the request.
  @inlinable
  public var path: QueryPath { self.erased.path }

  /// The context that later fetches start with.
  public var context: QueryContext {
    get { self.erased.context }
    set { self.erased.context = newValue }
  }
}

// MARK: - State

extension OpaqueQueryStore {
  /// The state at this moment.
  public var state: OpaqueQueryState { self.erased.opaqueState }

  /// A property of the current state.
  public subscript<T: Sendable>(dynamicMember keyPath: KeyPath<OpaqueQueryState, T>) -> T {
    self.state[keyPath: keyPath]
  }

  /// The value of the state; `nil` also if it is an absent optional.
  public var currentValue: (any Sendable)? {
    get { self.state.currentValue }
    @available(
      *,
      unavailable,
      message: "The type is not checked: use uncheckedSetCurrentValue(_:using:)."
    )
    set { self.uncheckedSetCurrentValue(newValue) }
  }

  /// Sets a value by hand.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - context: Supplies the clock and is the context of the event; nil to use the store's.
  /// - Precondition: The value has the type of the store's values.
  public func uncheckedSetCurrentValue(
    _ value: (any Sendable)?,
    using context: QueryContext? = nil
  ) {
    self.uncheckedSetResult(to: .success(value), using: context)
  }

  /// Sets a value or an error by hand.
  ///
  /// - Parameters:
  ///   - result: The value or the error.
  ///   - context: Supplies the clock and is the context of the event; nil to use the store's.
  /// - Precondition: The value has the type of the store's values.
  public func uncheckedSetResult(
    to result: Result<(any Sendable)?, any Error>,
    using context: QueryContext? = nil
  ) {
    self.erased.setOpaqueResult(to: result, using: context)
  }

  /// Goes back to a fresh state. See ``QueryStore/reset(using:)``.
  ///
  /// - Parameter context: The context of the event; nil to use the store's.
  public func reset(using context: QueryContext? = nil) { self.erased.reset(using: context) }

  /// Whether an automatic fetch would be due.
  public var isStale: Bool { self.erased.isStale }

  /// Whether the store fetches by itself.
  public var isAutomaticFetchingEnabled: Bool { self.erased.isAutomaticFetchingEnabled }

  /// Gives exclusive access to the store. See ``QueryStore/withExclusiveAccess(_:)``.
  ///
  /// - Parameter fn: Runs under the store's lock, so it must not wait for another thread.
  public func withExclusiveAccess<T>(
    _ fn: (OpaqueQueryStore) throws -> sending T
  ) rethrows -> sending T {
    let store = self.erased
    store.enter()
    defer { store.leave() }
    return try fn(self)
  }
}

// MARK: - Fetching

extension OpaqueQueryStore {
  /// Fetches the value. See ``QueryStore/fetch(using:handler:)-(QueryTaskConfiguration?,_)``.
  @discardableResult
  public func fetch(
    using configuration: QueryTaskConfiguration? = nil,
    handler: OpaqueQueryEventHandler = OpaqueQueryEventHandler()
  ) async throws -> any Sendable {
    try await self.erased.fetchOpaque(in: nil, configuration: configuration, handler: handler)
  }

  /// Fetches the value, with a context instead of the store's.
  @discardableResult
  public func fetch(
    using context: QueryContext,
    handler: OpaqueQueryEventHandler = OpaqueQueryEventHandler()
  ) async throws -> any Sendable {
    try await self.erased.fetchOpaque(in: context, configuration: nil, handler: handler)
  }

  /// Schedules a fetch without starting it.
  @discardableResult
  public func fetchTask(
    using configuration: QueryTaskConfiguration? = nil
  ) -> QueryTask<any Sendable> {
    self.erased.opaqueTask(in: nil, configuration: configuration)
  }

  /// Schedules a fetch without starting it, with a context instead of the store's.
  @discardableResult
  public func fetchTask(using context: QueryContext) -> QueryTask<any Sendable> {
    self.erased.opaqueTask(in: context, configuration: nil)
  }

  /// Calls a handler with the state now, and with every event from now on.
  ///
  /// - Parameter handler: Receives the events.
  public func subscribe(with handler: OpaqueQueryEventHandler) -> QuerySubscription {
    self.erased.subscribe(with: handler)
  }

  /// Calls a closure with the state now, and with every state from now on.
  ///
  /// - Parameter onStateChanged: Called with the state after each change.
  public func subscribe(
    _ onStateChanged: @escaping @Sendable (OpaqueQueryState) -> Void
  ) -> QuerySubscription {
    self.subscribe(
      with: OpaqueQueryEventHandler(onStateChanged: { state, _ in onStateChanged(state) }))
  }

  /// How many subscriptions there are.
  public var subscriberCount: Int { self.erased.subscriberCount }
}
