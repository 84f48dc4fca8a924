import Synchronization

extension QueryClient.DefaultStoreCache {
  /// Records that somebody asked for a store. Takes no store's lock: the caller may hold another's.
  @usableFromInline
  func didUse(_ store: OpaqueQueryStore) {
    guard self.tracksUses.load(ordering: .relaxed) else { return }
    self.unused.withLock { unused in
      if let stay = unused.touch(store.erased) { self.begin(stay, of: store.erased) }
    }
  }

  /// Begins to record when a new store is used, if it may leave for want of use.
  func noteUses(of store: OpaqueQueryStore) {
    guard self.maxUnusedStores != nil || store.context.evictionAge != nil else { return }
    self.tracksUses.store(true, ordering: .relaxed)
    let erased = store.erased
    erased.onUseChange { [weak self, weak erased] in
      guard let self, let erased else { return }
      self.noteUse(of: erased)
    }
    self.noteUse(of: erased)
  }

  /// Records whether a store is used that is here again.
  func noteReturn(of store: any ErasedQueryStore) {
    if self.tracksUses.load(ordering: .relaxed) { self.noteUse(of: store) }
  }

  /// Forgets a store that another one has replaced.
  @usableFromInline
  func didReplace(_ store: OpaqueQueryStore) { self.forget(CollectionOfOne(store.erased)) }

  /// Forgets stores that have left the cache.
  func forget(_ stores: some Collection<any ErasedQueryStore>) {
    guard !stores.isEmpty, self.tracksUses.load(ordering: .relaxed) else { return }
    self.unused.withLock { unused in
      for store in stores { unused.forget(store)?.schedule.remove(store) }
    }
  }

  /// Records whether a store is used now.
  private func noteUse(of store: any ErasedQueryStore) {
    let context = store.context
    let stay = context.evictionAge.map {
      UnusedStores.Stay(length: $0, schedule: context.turnSchedule)
    }
    var isUsed: Bool
    repeat {
      isUsed = store.isUsed
      let surplus = self.unused.withLock { [isUsed] unused -> [any ErasedQueryStore] in
        if isUsed {
          unused.forget(store)?.schedule.remove(store)
          return []
        }
        // One that has left takes no other one's place.
        guard self.hasStore(store) else { return [] }
        unused.use(store, stay)
        if let stay { self.begin(stay, of: store) }
        return unused.takeOldest(leaving: self.maxUnusedStores ?? .max)
      }
      self.evict(surplus)
      // Another thread may have changed that meanwhile, and have been the first to record it.
    } while isUsed != store.isUsed
  }

  /// Lets stores stay as if they had been used now.
  func postpone(_ stores: [any ErasedQueryStore]) {
    if stores.isEmpty { return }
    self.unused.withLock { unused in
      for store in stores {
        if let stay = unused.touch(store) {
          self.begin(stay, of: store)
        } else if self.hasStore(store) {
          unused.use(store)
        }
      }
    }
  }

  /// Whether a store is here. One that is removed is forgotten afterwards, under the lock of the unused stores, so
  /// that the answer holds until then for a caller that has that lock.
  private func hasStore(_ store: any ErasedQueryStore) -> Bool {
    self.stores.withLock { $0[store.path] }?.erased === store
  }

  /// The caller holds the lock of the unused stores.
  private func begin(_ stay: UnusedStores.Stay, of store: any ErasedQueryStore) {
    let end = stay.schedule.time.now() + stay.length
    stay.schedule.set(store, at: end, slack: stay.length / 10) { [weak self, weak store] in
      guard let self, let store else { return }
      self.evict([store])
    }
  }
}

extension QueryRequest {
  /// Has a store of this query leave the memory of its client when it has had no subscriber for a time,
  /// has not loaded, and nobody has asked the client for it.
  ///
  /// Stores share a timer: one may leave a tenth of the time early, together with others. What it has
  /// persisted stays on disk. If somebody who still holds the store subscribes to it, it comes back, unless its
  /// path was cleared meanwhile, or has another store by then. A cache of one's own decides by itself.
  ///
  /// - Parameter duration: For how long it stays.
  /// - Precondition: `duration` is not negative.
  public func evict(
    afterUnused duration: Duration
  ) -> ModifiedQuery<Self, _EvictAfterUnusedModifier<Self>> {
    precondition(
      duration >= .zero,
      "\(self._debugTypeName): evict(afterUnused:) takes a duration that is not negative; "
        + "got \(duration)."
    )
    return self.modifier(_EvictAfterUnusedModifier(duration: min(duration, .longest)))
  }
}

public struct _EvictAfterUnusedModifier<Query: QueryRequest>: _ContextUpdatingQueryModifier {
  let duration: Duration

  public func setup(context: inout QueryContext) { context.evictionAge = self.duration }
}

extension QueryContext {
  /// For how long a store that is not used stays in its cache; nil: for ever.
  fileprivate(set) var evictionAge: Duration? {
    get { self[EvictionAgeKey.self] }
    set { self[EvictionAgeKey.self] = newValue }
  }

  private enum EvictionAgeKey: Key {
    static var defaultValue: Duration? { nil }
  }
}
