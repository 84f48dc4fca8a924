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
    var defaultContext: QueryContext
    var cache: any StoreCache
  }

  private let lock = RecursiveLock()
  private var guarded: Guarded
  @usableFromInline let defaultCache: DefaultStoreCache?
  @usableFromInline let defaultCreator: DefaultStoreCreator?
  @usableFromInline let storeCreator: any StoreCreator
  package let replayCoordinator = ReplayCoordinator()

  /// Creates a client with a custom creator.
  ///
  /// - Parameters:
  ///   - defaultContext: The context that new stores start with.
  ///   - storeCache: Keeps the stores.
  ///   - storeCreator: Makes the stores.
  public init(
    defaultContext: QueryContext = QueryContext(),
    storeCache: sending some StoreCache = DefaultStoreCache(),
    storeCreator: sending some StoreCreator
  ) {
    self.defaultCache = storeCache as? DefaultStoreCache
    self.defaultCreator = storeCreator as? DefaultStoreCreator
    self.storeCreator = storeCreator
    self.guarded = Guarded(
      defaultContext: defaultContext,
      cache: storeCache
    )
    // Even if the context has a client, such as the one of another client's stores.
    self.guarded.defaultContext.setWeakClient(self)
    self.addNetworkObserver(to: &self.guarded.defaultContext)
  }

  /// Creates a client with the library's defaults; inside tests, with those that make no delays.
  ///
  /// - Parameters:
  ///   - defaultContext: The context that new stores start with.
  ///   - storeCache: Keeps the stores.
  public convenience init(
    defaultContext: QueryContext = QueryContext(),
    storeCache: sending some StoreCache = DefaultStoreCache()
  ) {
    self.init(
      defaultContext: defaultContext,
      storeCache: storeCache,
      storeCreator: TestDetection.isTesting ? .defaultTesting : .default()
    )
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
      self.addNetworkObserver(to: &new)
      let old = self.withLock { guarded in
        defer { guarded.defaultContext = new }
        return guarded.defaultContext
      }
      withExtendedLifetime(old) {}
    }
  }
}

extension QueryClient {
  /// Adds the creator's network observer if the context has none.
  private func addNetworkObserver(to context: inout QueryContext) {
    guard let observer = self.defaultCreator?.defaults.networkObserver,
      context.networkObserver == nil
    else { return }
    context.networkObserver = observer
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
    if let cache = self.defaultCache { return cache.stores.withLock { body(&$0) } }
    return self.withLock { guarded in
      guarded.cache.withStores { stores in body(&stores) }
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

  fileprivate mutating func setWeakClient(_ client: QueryClient) {
    self[QueryClientKey.self] = .weak(ClientReference.Weak(client))
  }

  private enum QueryClientKey: Key {
    static var defaultValue: ClientReference? { nil }
  }
}
