import Synchronization

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

  /// Keeps stores until they are cleared; those that nobody subscribes to, until memory is short, until
  /// there are too many of them, or as long as ``QueryRequest/evict(afterUnused:)`` says.
  ///
  /// What a store has persisted stays on disk, and is there when its query has a store again.
  public final class DefaultStoreCache: StoreCache, Sendable {
    @usableFromInline let stores = Locked(QueryPathableCollection<OpaqueQueryStore>())
    let watch = StoreWatch()
    /// How many stores that are not used are kept; nil: all.
    let maxUnusedStores: Int?
    let unused = Locked(UnusedStores())
    /// Whether a store has been added that its cache evicts when it is not used.
    let tracksUses = Atomic(false)
    private let subscription = Locked(QuerySubscription.empty)
    /// Which stores were cleared on purpose: one that was given up for want of use does not come back to a path
    /// that was cleared since.
    private let clearings = Locked(RecentPaths(limit: 64))
    /// The stores that are used although the cache has given them up.
    private let departed = Locked([ObjectIdentifier: WeakStore]())
    private let listening = Locked(LateListening?.none)

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - maxUnusedStores: How many stores are kept that have no subscriber, and are not loading; nil:
    ///     any number. Of more, those leave that were used least recently: that were asked for, had a
    ///     subscriber, or were loading.
    ///   - memoryPressureSource: Reports that memory is short. The cache then drops stores without
    ///     subscribers whose ``QueryContext/evictableMemoryPressure`` contains the pressure.
    /// - Precondition: `maxUnusedStores` is not negative.
    public init(
      maxUnusedStores: Int? = nil,
      memoryPressureSource: sending (any MemoryPressureSource)? = defaultMemoryPressureSource
    ) {
      precondition(
        maxUnusedStores ?? 0 >= 0,
        "DefaultStoreCache(maxUnusedStores:) takes a number that is not negative; "
          + "got \(maxUnusedStores ?? 0)."
      )
      self.maxUnusedStores = maxUnusedStores
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
      self.maxUnusedStores = nil
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

    /// Records that stores were added.
    @usableFromInline
    func didAdd(_ stores: some Collection<OpaqueQueryStore>) {
      if stores.isEmpty { return }
      for store in stores { self.noteUses(of: store) }
      self.listenIfOfUse()
    }

    /// Records that a store was added.
    @usableFromInline
    func didAdd(_ store: OpaqueQueryStore) {
      self.noteUses(of: store)
      self.listenIfOfUse()
    }

    private func listenIfOfUse() {
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
      defer { self.watch.deliver() }
      return try self.stores.withLock { stores in
        let before = self.watch.begin(stores)
        defer { self.watch.end(before, stores) }
        return try body(&stores)
      }
    }

    /// Whether there is a store that some pressure would drop.
    var hasDroppable: Bool {
      self.stores.withLock { $0 }.contains { Self.isDroppable($0, at: .all) }
    }

    private struct WeakStore: Sendable {
      weak let store: (any ErasedQueryStore)?
    }

    private static func isDroppable(
      _ store: OpaqueQueryStore,
      at pressure: MemoryPressure
    ) -> Bool {
      store.subscriberCount == 0
        && !store.context.evictableMemoryPressure.isDisjoint(with: pressure)
    }

    private func evict(at pressure: MemoryPressure) {
      let retired = self.retire(at: pressure)
      // Before they leave, so that a reset meanwhile finds each of them here or among the departed.
      self.noteDeparted(retired.filter(\.isUsed))
      self.remove(retired)
    }

    /// Retires the stores that a pressure drops.
    func retire(at pressure: MemoryPressure) -> [any ErasedQueryStore] {
      let clearings = self.clearings.withLock { $0.count }
      // Outside the lock, since a store has a lock of its own.
      let droppable = self.stores.withLock { $0 }.filter { Self.isDroppable($0, at: pressure) }
      return droppable.map(\.erased).filter { $0.retire(self.comeBack($0, clearings)) }
    }

    /// Removes stores that are here and not used. Waits for no store: one that another thread has locked
    /// is used, and a caller that asks for a store may hold the lock of another one.
    func evict(_ candidates: [any ErasedQueryStore]) {
      if candidates.isEmpty { return }
      let clearings = self.clearings.withLock { $0.count }
      let stores = self.stores.withLock { $0 }
      let here = candidates.filter { stores[$0.path]?.erased === $0 }
      var (retired, busy) = ([any ErasedQueryStore](), [any ErasedQueryStore]())
      for store in here {
        switch store.retireIfUnused(self.comeBack(store, clearings)) {
        case true?: retired.append(store)
        case false?: break
        case nil: busy.append(store)
        }
      }
      self.remove(retired)
      self.postpone(busy)
    }

    /// Puts a store back that was given up, if somebody subscribes to it later.
    ///
    /// - Parameter clearings: The ``RecentPaths/count`` of the clearings when this store was still here.
    private func comeBack(
      _ store: any ErasedQueryStore, _ clearings: Int
    ) -> ComeBack {
      { [weak self, weak store] use in
        guard let self, let store else { return }
        if use == .fetch {
          if !self.isCleared(store, since: clearings) { self.noteDeparted([store]) }
        } else if self.takeBack(store, unlessClearedSince: clearings) {
          // Its subscriber may be gone again, and nobody has counted the store while it was not here.
          self.noteReturn(of: store)
        } else {
          self.noteDeparted([store])
          // Another store may leave the path before the next one subscribes.
          store.comeBackLater(self.comeBack(store, clearings))
        }
      }
    }

    /// Removes retired stores, unless somebody has subscribed to them meanwhile.
    func remove(_ retired: [any ErasedQueryStore]) {
      let released = self.withStores { stores in
        retired.filter { store in
          guard stores[store.path]?.erased === store, store.mayBeGivenUp else { return false }
          stores.removeValue(forPath: store.path)
          return true
        }
      }
      self.forget(released)
    }

    /// Keeps a store again that was removed, and that somebody subscribes to now: what holds the
    /// subscription alone must hear of what happens at the path. Not if that was cleared since.
    ///
    /// - Returns: Whether it is decided; false: its path has another store now.
    private func takeBack(
      _ store: any ErasedQueryStore, unlessClearedSince clearings: Int
    ) -> Bool {
      self.withStores { stores in
        if self.isCleared(store, since: clearings) { return true }
        if let present = stores[store.path] { return present.erased === store }
        stores.update(OpaqueQueryStore(erased: store))
        return true
      }
    }

    /// Records that the cache gives up, or has given up, stores that are used. Takes no store's lock: the caller
    /// may hold another's.
    private func noteDeparted(_ stores: [any ErasedQueryStore]) {
      if stores.isEmpty { return }
      // What tells that a store is there is released after the lock.
      var living = [any ErasedQueryStore]()
      self.departed.withLock { departed in
        departed = departed.filter { known in
          guard let store = known.value.store else { return false }
          living.append(store)
          return true
        }
        for store in stores { departed[ObjectIdentifier(store)] = WeakStore(store: store) }
      }
      withExtendedLifetime(living) {}
    }

    /// The stores that are used although the cache has given them up, and whose path begins with another one:
    /// those that load, and those whose path has another store by now.
    ///
    /// - Parameter stores: Those that the cache had a moment ago. One that has come back since is not among them,
    ///   and is returned.
    func departedStores(
      matching path: QueryPath, besides stores: QueryPathableCollection<OpaqueQueryStore>
    ) -> [any ErasedQueryStore] {
      self.departed.withLock { $0 }.values.compactMap(\.store).filter { store in
        path.isPrefix(of: store.path) && stores[store.path]?.erased !== store && store.isUsed
      }
    }

    private func isCleared(_ store: any ErasedQueryStore, since clearings: Int) -> Bool {
      self.clearings.withLock { $0.covers(store.path, since: clearings) }
    }

    /// Records that stores are being cleared on purpose. Called under the lock of the stores.
    func didClear(_ paths: AffectedPaths) { self.clearings.withLock { $0.note(paths) } }
  }
}
