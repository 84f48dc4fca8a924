extension QueryStore {
  /// Makes the value stale from now on, whatever its age, until the next successful update.
  ///
  /// A store with subscribers that fetches by itself fetches at once. Where the query is persisted,
  /// the invalidation survives a restart.
  public func invalidate() {
    let hasSubscribers = self.withLock {
      self._state.invalidate()
      self.storing?.stateDidChange(self._state, in: self._context)
      self.emit(.stateChanged, in: self._context)
      return self.subscribers > 0
    }
    if hasSubscribers { self.startAutomaticFetch() }
  }
}

extension OpaqueQueryStore {
  /// Makes the value stale from now on. See ``QueryStore/invalidate()``.
  public func invalidate() { self.erased.invalidate() }
}

extension QueryClient {
  /// Makes the values stale of all queries whose path begins with another one: of the stores of this
  /// client, and, in its storage, of queries that have no store at the moment.
  ///
  /// - Parameter path: The beginning of the paths. The empty path means all.
  public func invalidate(matching path: QueryPath = []) {
    // The storage first: what stores write from then on is about later values.
    self.defaultContext.queryStorage?.invalidate(matching: path)
    for store in self.stores(matching: path) { store.invalidate() }
  }
}
