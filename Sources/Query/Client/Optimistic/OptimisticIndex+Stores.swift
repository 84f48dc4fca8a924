extension OptimisticIndex {
  /// Adds a store, and lays the edits of its path over it.
  @usableFromInline
  func attach(_ store: AnyObject) {
    guard let store = store as? any OverlaidStore, store.isOverlayable else { return }
    // The store calls again once it is hydrated; until then no edit is laid over it.
    if store.isHydrating { return }
    self.attachHydrated(store)
  }

  func attachHydrated(_ store: any OverlaidStore) {
    guard store.isOverlayable else { return }
    self.note(store)
    if let mark = store.optimisticMark?.sequence { self.load(endedAfter: mark, upTo: mark) }
    self.relay(store)
  }

  /// Reads what is not in memory of the ends that a value about to be shown lacks.
  ///
  /// - Parameters:
  ///   - sequence: It lacks successes after this end.
  ///   - end: Rows that ended up to here must not be taken for live ones, which the value would not have.
  func load(endedAfter sequence: Int64, upTo end: Int64 = 0) {
    guard self.isActive else { return }
    let isKnown = self.guarded.withLock { index in
      index.neededAfter = min(index.neededAfter, sequence)
      index.arrivals += 1
      return index.isWhole && index.seen >= end
    }
    if !isKnown { self.read() }
  }

  func isClosed(_ gap: EditGap, at path: QueryPath, version: Int?) -> Bool {
    self.guarded.withLock { index in
      guard index.loadedAfter <= gap.start, index.seen >= gap.end else { return false }
      return version.map { $0 == index.version(at: path) } ?? index.edits(at: path).isEmpty
    }
  }

  func version(at path: QueryPath) -> Int { self.guarded.withLock { $0.version(at: path) } }

  func close(_ gap: EditGap, of store: any OverlaidStore) {
    self.load(endedAfter: gap.start, upTo: gap.end)
    // Another thread may have read them, and not laid them yet.
    if !store.isHydrating { self.lay(over: store, since: self.guarded.withLock { $0.seen }) }
  }

  /// Lays the edits that its value lacks over a store. They may be older than those in memory.
  func relay(_ store: any OverlaidStore) {
    if let mark = store.optimisticMark?.sequence { self.load(endedAfter: mark) }
    let (seen, ground) = self.guarded.withLock { ($0.seen, $0.ground) }
    // If the outbox was deleted since, its mark may be anything; a lower mark is always safe.
    store.limitMark(to: max(seen, ground?.outbox.endedSequence ?? 0))
    self.lay(over: store, since: seen)
  }

  /// Whether a live mutation changes a query, and this process does not know how.
  func hasUnknownChange(at path: QueryPath, storedAs identity: QueryIdentity?) -> Bool {
    self.isActive && self.guarded.withLock { $0.hasUnknownChange(at: path, storedAs: identity) }
  }

  func note(_ store: any OverlaidStore) {
    let path = store.path
    // Released after the lock: each may be the last reference, and what a store's end calls is the program's.
    var living = [any OverlaidStore]()
    defer { withExtendedLifetime(living) {} }
    self.guarded.withLock { index in
      var stores = index.stores[path] ?? []
      stores.removeAll { !$0.isAlive(keptIn: &living) }
      if !stores.contains(where: { $0.store === store }) { stores.append(WeakStore(store: store)) }
      index.stores[path] = stores
      index.last = nil
      index.arrivals += 1
      index.storeCount += 1
      guard index.storeCount > index.storesBeforePurge else { return }
      index.stores = index.stores.filter { $0.value.contains { $0.isAlive(keptIn: &living) } }
      index.storeCount = index.stores.count
      index.storesBeforePurge = max(2 * index.storeCount, 64)
    }
  }

  private func lay(over store: any OverlaidStore, since sequence: Int64) {
    let path = store.path
    var isLaid = false
    while !isLaid {
      let (edits, version) = self.guarded.withLock { ($0.edits(at: path), $0.version(at: path)) }
      for edit in edits where !store.canShow(edit.edit) && !edit.edit.isPrefix {
        guard self.guarded.withLock({ $0.reportedPaths.insert(path).inserted }) else { break }
        QueryWarning.optimisticEditOfOtherState(
          path: path, expected: edit.edit.declared.state, found: type(of: store)
        ).report()
      }
      isLaid = store.lay(
        edits.filter { store.canShow($0.edit) }, version: version, since: sequence, self)
    }
  }

  func layEverywhere() {
    let sequence = self.guarded.withLock { $0.seen }
    for store in self.livingStores { self.lay(over: store, since: sequence) }
  }

  /// Shows changes of rows in the stores that they touch.
  ///
  /// - Parameters:
  ///   - change: What has changed.
  ///   - isSettled: Whether also what another thread has laid is shown when this returns.
  ///   - stores: These stores, if the caller has them.
  /// - Returns: These stores.
  @discardableResult
  func lay(
    _ change: RowChange, isSettled: Bool = false, in stores: [any OverlaidStore]? = nil
  ) -> [any OverlaidStore] {
    if change.hasOtherUnknown {
      for store in self.livingStores { store.pendingChangesDidChange() }
    }
    let stores = stores ?? self.guarded.withLock { $0.livingStores(of: change) }
    for store in stores {
      if let added = change.added, change.paths.isOne, store.canShow(added.edit),
        store.lay(added: added, version: change.version)
      {
        continue
      }
      self.lay(over: store, since: change.since)
      if change.hasSuccess { self.fold(store) }
      if isSettled { store.settleEdits() }
    }
    if change.hasSuccess { self.forgetAcknowledged() }
    return stores
  }
}

extension QueryStore {
  /// Lays the edits of the client over the value, if there are any.
  func layEdits() {
    guard let index = self.context.queryClient?.optimistic, index.isActive else { return }
    index.attachHydrated(self)
  }
}
