extension QueryClient {
  /// Makes stores as the client does, without keeping them.
  ///
  /// Handed to the closure of ``QueryClient/withStores(matching:perform:)``, and called with what
  /// `store(for:)` takes.
  public struct CreateStore: ~Copyable {
    private let client: QueryClient

    init(client: QueryClient) { self.client = client }

    /// Makes a store of a request.
    ///
    /// - Parameters:
    ///   - query: The request.
    ///   - initialState: The state to start with.
    public func callAsFunction<Query: QueryRequest>(
      for query: Query,
      initialState: Query.State
    ) -> QueryStore<Query.State> {
      self.client.create(query, at: query.path, initialState: initialState)
    }

    /// Makes a store of a query.
    ///
    /// - Parameters:
    ///   - query: The request.
    ///   - initialValue: The value before the first fetch.
    public func callAsFunction<Query: QueryRequest>(
      for query: Query,
      initialValue: Query.Value? = nil
    ) -> QueryStore<Query.State> where Query.State == QueryState<Query.Value?, Query.Value> {
      self.client.create(
        query, at: query.path, initialState: QueryState(initialValue: initialValue))
    }

    /// Makes a store of a query with a default value.
    ///
    /// - Parameter query: The request.
    public func callAsFunction<Query: _DefaultValueRequest>(
      for query: Query
    ) -> QueryStore<Query.State> {
      self.client.create(query, at: query.path, initialState: query._defaultState)
    }

    /// Makes a store of an infinite query.
    ///
    /// - Parameters:
    ///   - query: The request.
    ///   - initialValue: The pages before the first fetch.
    @_disfavoredOverload
    public func callAsFunction<Query: InfiniteQueryRequest>(
      for query: Query,
      initialValue: Query.State.StateValue = []
    ) -> QueryStore<Query.State> {
      self.client.create(
        query,
        at: query.path,
        initialState: InfiniteQueryState(
          initialValue: initialValue,
          initialPageId: query.initialPageId
        )
      )
    }

    /// Makes a store of a mutation.
    ///
    /// - Parameters:
    ///   - mutation: The request.
    ///   - initialValue: The value before the first attempt.
    public func callAsFunction<Mutation: MutationRequest>(
      for mutation: Mutation,
      initialValue: Mutation.State.StateValue = nil
    ) -> QueryStore<Mutation.State> {
      self.client.create(
        mutation, at: mutation.path, initialState: MutationState(initialValue: initialValue))
    }
  }
}
