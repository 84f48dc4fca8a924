extension QueryClient {
  /// What keeps the stores of a client.
  public protocol StoreCache {
    /// Gives access to the stores.
    ///
    /// - Parameter body: Reads and edits the stores.
    mutating func withStores<T>(
      _ body: (inout sending QueryPathableCollection<OpaqueQueryStore>) throws -> sending T
    ) rethrows -> sending T
  }

  /// Keeps stores until they are cleared, or until memory is short and nobody subscribes to them.
  public final class DefaultStoreCache: StoreCache, Sendable {
    @usableFromInline let stores = Locked(QueryPathableCollection<OpaqueQueryStore>())
    private let subscription = Locked(QuerySubscription.empty)

    /// Creates a cache.
    ///
    /// - Parameter memoryPressureSource: Reports that memory is short. The cache then drops stores
    ///   without subscribers whose ``QueryContext/evictableMemoryPressure`` contains the pressure.
    public init(
      memoryPressureSource: sending (any MemoryPressureSource)? = defaultMemoryPressureSource
    ) {
      guard let memoryPressureSource else { return }
      let subscription = memoryPressureSource.subscribe { [weak self] in self?.evict(at: $0) }
      self.subscription.withLock { $0 = subscription }
    }

    /// The source that a new cache listens to: ``MemoryPressureSource/pressureStall`` if the kernel
    /// offers it. nil inside tests, so that other load on the machine cannot empty a cache.
    public static var defaultMemoryPressureSource: (any MemoryPressureSource)? {
      TestDetection.isTesting ? nil : PressureStallSource.pressureStall
    }

    public func withStores<T>(
      _ body: (inout sending QueryPathableCollection<OpaqueQueryStore>) throws -> sending T
    ) rethrows -> sending T {
      try self.stores.withLock(body)
    }

    private func evict(at pressure: MemoryPressure) {
      // Evaluated outside the lock, since a store has a lock of its own.
      let evictable = self.stores.withLock { $0 }.filter { store in
        store.subscriberCount == 0
          && !store.context.evictableMemoryPressure.isDisjoint(with: pressure)
      }
      let released = self.stores.withLock { stores in
        evictable.filter { store in
          guard stores[store.path] === store else { return false }
          stores.removeValue(forPath: store.path)
          return true
        }
      }
      withExtendedLifetime(released) {}
    }
  }
}
