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
    private let listening = Locked(LateListening?.none)

    /// Creates a cache.
    ///
    /// - Parameter memoryPressureSource: Reports that memory is short. The cache then drops stores
    ///   without subscribers whose ``QueryContext/evictableMemoryPressure`` contains the pressure.
    public init(
      memoryPressureSource: sending (any MemoryPressureSource)? = defaultMemoryPressureSource
    ) {
      guard let memoryPressureSource else { return }
      if let source = memoryPressureSource as? PressureStallSource {
        self.listenLate(to: source)
        return
      }
      let subscription = memoryPressureSource.subscribe { [weak self] in self?.evict(at: $0) }
      self.subscription.withLock { $0 = subscription }
    }

    /// Creates a cache that listens when that can be of use.
    init(
      lateSource: some MemoryPressureSource & Sendable,
      _ surroundings: LateListening.Surroundings
    ) {
      self.listenLate(to: lateSource, surroundings)
    }

    private func listenLate(
      to source: some MemoryPressureSource & Sendable,
      _ surroundings: LateListening.Surroundings = LateListening.Surroundings()
    ) {
      let listening = LateListening(
        surroundings,
        hasDroppable: { [weak self] in self?.hasDroppable ?? false },
        subscribe: { [weak self] in source.subscribe { [weak self] in self?.evict(at: $0) } })
      self.listening.withLock { $0 = listening }
    }

    /// Records that a store was added.
    @usableFromInline
    func didAdd() {
      guard let listening = self.listening.withLock({ $0 }), !listening.isListening else { return }
      listening.noteStores(self.stores.withLock { $0.count })
    }

    /// The source that a new cache listens to: ``MemoryPressureSource/pressureStall`` if the kernel
    /// offers it. A cache begins with that when it is a minute old and has a store to drop, or has
    /// more than 1 000 stores: a short program ends sooner without. nil inside tests, so that other load on the machine cannot empty a cache.
    public static var defaultMemoryPressureSource: (any MemoryPressureSource)? {
      TestDetection.isTesting ? nil : PressureStallSource.pressureStall
    }

    public func withStores<T>(
      _ body: (inout sending QueryPathableCollection<OpaqueQueryStore>) throws -> sending T
    ) rethrows -> sending T {
      try self.stores.withLock(body)
    }

    /// Whether there is a store that some pressure would drop.
    var hasDroppable: Bool {
      self.stores.withLock { $0 }.contains { Self.isDroppable($0, at: .all) }
    }

    private static func isDroppable(
      _ store: OpaqueQueryStore,
      at pressure: MemoryPressure
    ) -> Bool {
      store.subscriberCount == 0
        && !store.context.evictableMemoryPressure.isDisjoint(with: pressure)
    }

    private func evict(at pressure: MemoryPressure) {
      // Evaluated outside the lock, since a store has a lock of its own.
      let evictable = self.stores.withLock { $0 }.filter { Self.isDroppable($0, at: pressure) }
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
