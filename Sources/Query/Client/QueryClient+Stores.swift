extension QueryClient {
  /// The store with exactly this path, if there is one.
  ///
  /// - Parameter path: The path.
  public func store(with path: QueryPath) -> OpaqueQueryStore? {
    // Read without what tells listeners of changes.
    if let cache = self.defaultCache { return cache.stores.withLock { $0[path] } }
    return self.withCache { $0[path] }
  }

  /// The stores whose path begins with another one.
  ///
  /// - Parameter path: The beginning of the paths. The empty path finds all stores.
  /// - Complexity: O(*k*) in the length of the path.
  public func stores(matching path: QueryPath) -> QueryPathableCollection<OpaqueQueryStore> {
    self.withCache { $0.collection(matching: path) }
  }

  /// The stores of a state type whose path begins with another one.
  ///
  /// - Parameters:
  ///   - path: The beginning of the paths. The empty path finds all stores.
  ///   - type: The state type; stores of any other are left out.
  /// - Complexity: O(*n*) in the number of stores whose path matches.
  public func stores<State: QueryStateProtocol>(
    matching path: QueryPath,
    of type: State.Type
  ) -> QueryPathableCollection<QueryStore<State>> {
    self.stores(matching: path).compactMapElements { $0.erased as? QueryStore<State> }
  }

  /// Forgets the stores whose path begins with another one. A store that the program still holds
  /// lives on.
  ///
  /// - Parameter path: The beginning of the paths. The empty path finds all stores.
  public func clearStores(matching path: QueryPath = QueryPath()) {
    // Released after the lock.
    var removed = self.withCache { stores in
      let removed = stores.collection(matching: path)
      stores.removeAll(matching: path)
      self.defaultCache?.didClear(.beginning(with: path))
      return removed
    }
    self.defaultCache?.forget(removed.lazy.map(\.erased))
    // In the order in which they lie in memory: in that of the collection, which is none, thousands take twice
    // as long. Sorted as numbers, since each comparison would count the references to two stores.
    var stores = removed.map { UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) }
    removed = []
    stores.sortByRadix()
    for store in stores {
      UnsafeRawPointer(bitPattern: store).map(Unmanaged<OpaqueQueryStore>.fromOpaque)?.release()
    }
  }

  /// Forgets the store with exactly this path.
  ///
  /// - Parameter path: The path.
  /// - Returns: The store, if there was one.
  @discardableResult
  public func clearStore(with path: QueryPath) -> OpaqueQueryStore? {
    let removed = self.withCache { stores in
      self.defaultCache?.didClear(.exactly(path))
      return stores.removeValue(forPath: path)
    }
    if let removed { self.defaultCache?.forget(CollectionOfOne(removed.erased)) }
    return removed
  }
}

// MARK: - Editing

extension QueryClient {
  /// Adds stores to the client, or removes some.
  ///
  /// The closure edits a copy. When it has returned, stores at new paths are added, and those whose
  /// path vanished are removed; a store that was replaced under its path is not written back.
  /// Changes that other threads make meanwhile stay. Controllers of new stores are started after
  /// that. If the closure throws, nothing is changed.
  ///
  /// - Parameters:
  ///   - path: The beginning of the paths of the stores that the closure sees.
  ///   - perform: Edits the stores, and makes new ones. Runs under the client's lock.
  public func withStores<T>(
    matching path: QueryPath = QueryPath(),
    perform:
      @Sendable (
        inout QueryPathableCollection<OpaqueQueryStore>,
        borrowing CreateStore
      ) throws -> sending T
  ) rethrows -> sending T {
    try self.edit({ self.stores(matching: path) }, { $0 }, perform)
  }

  /// Adds stores of one state type to the client, or removes some.
  ///
  /// See ``withStores(matching:perform:)``.
  ///
  /// - Parameters:
  ///   - path: The beginning of the paths of the stores that the closure sees.
  ///   - type: The state type of these stores.
  ///   - perform: Edits the stores, and makes new ones. Runs under the client's lock.
  public func withStores<State: QueryStateProtocol, T>(
    matching path: QueryPath = QueryPath(),
    of type: State.Type,
    perform:
      @Sendable (
        inout QueryPathableCollection<QueryStore<State>>,
        borrowing CreateStore
      ) throws -> sending T
  ) rethrows -> sending T {
    try self.edit(
      { self.stores(matching: path, of: type) }, { OpaqueQueryStore(erasing: $0) }, perform)
  }

  /// Writes back what a closure makes of a copy of some stores.
  private func edit<Element: QueryPathable, T>(
    _ stores: @Sendable () -> QueryPathableCollection<Element>,
    _ opaque: @Sendable (Element) -> OpaqueQueryStore,
    _ perform:
      @Sendable (
        inout QueryPathableCollection<Element>,
        borrowing CreateStore
      ) throws -> sending T
  ) rethrows -> sending T {
    // Out here, so that stores that leave the cache are released after the lock.
    var before = QueryPathableCollection<Element>()
    var after = before
    // Of values that are invalidated before their stores are in the cache.
    let mark = self.invalidations.mark
    var added = [OpaqueQueryStore]()
    defer {
      self.invalidateAdded(added, since: mark)
      withExtendedLifetime((before, after)) {}
    }
    return try self.withExclusiveAccess {
      before = stores()
      after = before
      let result = try perform(&after, CreateStore(client: self))
      added = self.writeDifference(from: before, to: after, opaque)
      return result
    }
  }

  /// - Returns: The stores that the closure has added.
  private func writeDifference<Element: QueryPathable>(
    from before: QueryPathableCollection<Element>,
    to after: QueryPathableCollection<Element>,
    _ opaque: (Element) -> OpaqueQueryStore
  ) -> [OpaqueQueryStore] {
    var added = [OpaqueQueryStore]()
    var removed = [OpaqueQueryStore]()
    before.forEachDifference(to: after) { _, old, new in
      if let new { added.append(opaque(new)) } else if let old { removed.append(opaque(old)) }
    }
    let released = self.withCache { [added, removed] stores in
      let released = removed.filter { old in
        guard stores[old.path]?.erased === old.erased else { return false }
        stores.removeValue(forPath: old.path)
        return true
      }
      for store in removed { self.defaultCache?.didClear(.exactly(store.path)) }
      for store in added where stores[store.path] == nil { stores.update(store) }
      return released
    }
    self.defaultCache?.forget(released.lazy.map(\.erased))
    self.defaultCache?.didAdd(added)
    return added
  }

  /// Makes stale what was invalidated while its store was in no cache.
  private func invalidateAdded(_ stores: [OpaqueQueryStore], since mark: Int) {
    for store in stores where self.invalidations.hits(store.path, since: mark) {
      if self.store(with: store.path)?.erased === store.erased { store.invalidate() }
    }
  }
}
