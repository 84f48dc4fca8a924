extension QueryClient {
  /// Makes the values stale of all queries whose path begins with another one: of the stores of this
  /// client, and, in its storage, of queries that have no store at the moment.
  ///
  /// - Parameter path: The beginning of the paths. The empty path means all.
  public func invalidate(matching path: QueryPath = []) {
    // The storage first: what stores write from then on is about later values.
    self.invalidateStores(matching: path) {
      self.defaultContext.queryStorage?.invalidate(matching: path)
    }
  }

  /// Makes the values stale of the stores whose path begins with another one, those included that are being
  /// made. For a storage that is marked already, or by a closure.
  func invalidateStores(matching path: QueryPath, marking: () -> Void = {}) {
    self.invalidations.perform(path) {
      marking()
      for store in self.reachedStores(matching: path) { store.invalidate() }
    }
  }

  /// The stores whose path begins with another one, including those that are used although memory was too short
  /// to keep them: the client still writes what they fetch, and their holders see it.
  private func reachedStores(matching path: QueryPath) -> [any ErasedQueryStore] {
    let stores = self.stores(matching: path)
    let departed = self.defaultCache?.departedStores(matching: path, besides: stores) ?? []
    return stores.map(\.erased) + departed
  }
}

extension QueryClient {
  /// Cancels the fetches of the queries whose path begins with another one. See
  /// ``QueryStore/cancelFetches()``.
  ///
  /// - Parameter path: The beginning of the paths. The empty path means all.
  public func cancelFetches(matching path: QueryPath = []) {
    // All of them before any ends: a fetch may wait for one of another store.
    let ends = self.reachedStores(matching: path).flatMap { $0.takeCancellationOfFetches() }
    for end in ends { end() }
  }

  /// Resets the stores whose path begins with another one, those of mutations included. See
  /// ``QueryStore/reset(using:)``. What is stored of a query without a store stays.
  ///
  /// - Parameter path: The beginning of the paths. The empty path means all.
  public func reset(matching path: QueryPath = []) {
    // See above.
    let ends = self.reachedStores(matching: path).flatMap { $0.takeReset(using: nil) }
    for end in ends { end() }
  }
}
