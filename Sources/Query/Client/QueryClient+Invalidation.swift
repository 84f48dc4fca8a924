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
