/// Makes stores, and keeps one for each path.
///
/// ```swift
/// let client = QueryClient()
/// let store = client.store(for: PlayerQuery(id: 200))
/// ```
/// Its creator gives stores their defaults: queries are retried, deduplicated, and fetch by
/// themselves; see ``DefaultStoreCreator``. `QueryClient()` makes no delays inside tests.
///
/// Locking: `guarded` is read and written under `lock`, which the same thread may take again. The
/// cache of stores has a lock of its own, under which no user's code runs. A store is created, and
/// released, without either.
// @unchecked: see above.
public final class QueryClient: @unchecked Sendable {
  private struct Guarded {
    /// See ``QueryClient/firstContext(of:_:)``.
    var firstContexts = [ObjectIdentifier: QueryContext]()
    var defaultContext: QueryContext {
      didSet { self.firstContexts = [:] }
    }
    var cache: any StoreCache
  }

  private let lock = RecursiveLock()
  private var guarded: Guarded
  @usableFromInline let defaultCache: DefaultStoreCache?
  @usableFromInline let defaultCreator: DefaultStoreCreator?
  @usableFromInline let storeCreator: any StoreCreator
  package let replayCoordinator = ReplayCoordinator()
  /// What a store that is being made must know.
  @usableFromInline let invalidations = InvalidationLog()
  /// The mutations that change what its stores show.
  @usableFromInline let optimistic = OptimisticIndex()
  let registrations = MutationRegistrations()
  /// What the layers above keep for it.
  let extras = ClientExtras()
  /// That of the cache, where it has one.
  let watch: StoreWatch

  /// Creates a client. Every parameter has a default.
  ///
  /// ```swift
  /// let client = QueryClient(
  ///   storage: try SQLiteQueryStorage(applicationID: "org.example.notes"),
  ///   storeCreator: .default(retryLimit: 1, networkObserver: SystemNetworkObserver.shared))
  /// ```
  ///
  /// - Parameters:
  ///   - storage: Keeps persisted queries and durable mutations, as
  ///     ``QueryContext/queryStorage`` of the default context; nil: the storage that the default
  ///     context has, if any.
  ///   - defaultContext: The context that new stores start with.
  ///   - storeCache: Keeps the stores.
  ///   - storeCreator: Makes the stores; by default with the library's defaults, and inside tests with
  ///     those that make no delays.
  public init(
    storage: (any QueryStorage)? = nil,
    defaultContext: QueryContext = QueryContext(),
    storeCache: sending some StoreCache = DefaultStoreCache(),
    storeCreator: sending some StoreCreator = DefaultStoreCreator.ofThisProcess
  ) {
    self.defaultCache = storeCache as? DefaultStoreCache
    self.watch = self.defaultCache?.watch ?? StoreWatch()
    self.defaultCreator = storeCreator as? DefaultStoreCreator
    self.storeCreator = storeCreator
    self.guarded = Guarded(
      defaultContext: defaultContext,
      cache: storeCache
    )
    if let storage { self.guarded.defaultContext.queryStorage = storage }
    // Even if the context has a client, such as the one of another client's stores.
    self.guarded.defaultContext.setWeakClient(self)
    self.addObservers(to: &self.guarded.defaultContext)
  }

  deinit { self.lock.destroy() }

  /// The context of stores created from now on.
  ///
  /// It refers to this client weakly, as ``QueryContext/queryClient``.
  public var defaultContext: QueryContext {
    get { self.withLock { $0.defaultContext } }
    set {
      var new = newValue
      if new.queryClient == nil { new.setWeakClient(self) }
      self.addObservers(to: &new)
      let old = self.withLock { guarded in
        defer { guarded.defaultContext = new }
        return (guarded.defaultContext, guarded.firstContexts)
      }
      withExtendedLifetime(old) {}
    }
  }
}

extension QueryClient {
  /// Adds the creator's observers if the context has none.
  private func addObservers(to context: inout QueryContext) {
    guard let defaults = self.defaultCreator?.defaults else { return }
    if context.networkObserver == nil, let observer = defaults.networkObserver {
      context.networkObserver = observer
    }
    if context.applicationActivityObserver == nil, let observer = defaults.activityObserver {
      context.applicationActivityObserver = observer
    }
  }
}

// MARK: - The context of a new store

extension QueryClient {
  /// The context that the stores of a state type begin with: the default one, with what the creator writes into
  /// it. They share it, which is most of what a store would have of its own.
  @usableFromInline
  func firstContext<State: QueryStateProtocol>(
    of state: State.Type, _ defaults: ClientDefaults
  ) -> QueryContext {
    self.withLock { guarded in
      if let known = guarded.firstContexts[ObjectIdentifier(state)] { return known }
      let context = defaults.applied(to: guarded.defaultContext, of: state)
      guarded.firstContexts[ObjectIdentifier(state)] = context
      return context
    }
  }
}

// MARK: - Access

extension QueryClient {
  private func withLock<T>(_ body: (inout Guarded) throws -> T) rethrows -> T {
    self.lock.lock()
    defer { self.lock.unlock() }
    return try body(&self.guarded)
  }

  /// Runs a closure with the stores. It must call no user code except that of path elements.
  @usableFromInline
  func withCache<T: Sendable>(
    _ body: (inout QueryPathableCollection<OpaqueQueryStore>) -> T
  ) -> T {
    if let cache = self.defaultCache { return cache.withStores { body(&$0) } }
    defer { self.watch.deliver() }
    return self.withLock { guarded in
      guarded.cache.withStores { stores in
        let before = self.watch.begin(stores)
        defer { self.watch.end(before, stores) }
        return body(&stores)
      }
    }
  }

  /// Runs a user's closure under the lock, and starts the controllers of stores that it created
  /// when the outermost one has returned.
  func withExclusiveAccess<T>(_ body: () throws -> T) rethrows -> T {
    try ControllerStart.deferred {
      self.lock.lock()
      defer { self.lock.unlock() }
      return try body()
    }
  }
}

// MARK: - Context

private enum ClientReference: Sendable {
  final class Weak: Sendable {
    weak let client: QueryClient?

    init(_ client: QueryClient) { self.client = client }
  }

  case weak(Weak)
  case strong(QueryClient)

  var client: QueryClient? {
    switch self {
    case .weak(let reference): reference.client
    case .strong(let client): client
    }
  }
}

extension QueryContext {
  /// The client that made the store of this context.
  ///
  /// A client's own contexts hold it weakly; a client that is set here is held strongly.
  public var queryClient: QueryClient? {
    get { self[QueryClientKey.self]?.client }
    set { self[QueryClientKey.self] = newValue.map { .strong($0) } }
  }

  /// What tells the client from others, also once it is gone; nil: the store has none.
  package var clientIdentity: (any AnyObject & Sendable)? {
    switch self[QueryClientKey.self] {
    case .strong(let client): client
    case .weak(let reference): reference
    case nil: nil
    }
  }

  fileprivate mutating func setWeakClient(_ client: QueryClient) {
    self[QueryClientKey.self] = .weak(ClientReference.Weak(client))
  }

  private enum QueryClientKey: Key {
    static var defaultValue: ClientReference? { nil }
  }
}
