extension QueryStore {
  /// Creates a store outside any client. It has no defaults: it does not retry, deduplicate, or
  /// fetch by itself.
  ///
  /// - Parameters:
  ///   - query: The request.
  ///   - initialState: The state to start with.
  ///   - initialContext: The context that the request sets up.
  // Always inlined: behind a call, the request would be copied once more.
  @inlinable
  @inline(__always)
  public static func detached<Query: QueryRequest>(
    query: consuming Query,
    initialState: Query.State,
    initialContext: QueryContext = QueryContext()
  ) -> QueryStore<Query.State> where State == Query.State {
    let path = query.path
    return .detached(
      query: query, at: path, initialState: initialState, initialContext: initialContext)
  }

  /// - Parameter path: The path of the request: a caller that knows it need not make it again.
  @inlinable
  @inline(__always)
  static func detached<Query: QueryRequest>(
    query: consuming Query,
    at path: QueryPath,
    initialState: Query.State,
    initialContext: QueryContext
  ) -> QueryStore<Query.State> where State == Query.State {
    // Moved into the store's closure, after its last use: for a copy, a launch would have to make its type, which
    // takes as long as to read a value.
    let query = query
    var context = initialContext
    QueryStore<Query.State>.beginSetup(of: &context)
    query.setup(context: &context)
    let store = QueryStore<Query.State>(path: path, state: initialState, context: context)
    if let plan = context.persistencePlan { plan.attach(store, query._debugTypeName) }
    store.request = { context, continuation in
      try await query.fetch(in: context, with: continuation)
    }
    if let plan = context.mutationPlan { plan.attach(store) }
    store.startControllers()
    return store
  }

  /// Creates a store outside any client, for a query without a default value.
  ///
  /// - Parameters:
  ///   - query: The request.
  ///   - initialValue: The value before the first fetch.
  ///   - initialContext: The context that the request sets up.
  @inlinable
  public static func detached<Query: QueryRequest>(
    query: Query,
    initialValue: Query.State.StateValue,
    initialContext: QueryContext = QueryContext()
  ) -> QueryStore<QueryState<Query.Value?, Query.Value>>
  where
    State == QueryState<Query.Value?, Query.Value>,
    Query.State == QueryState<Query.Value?, Query.Value>
  {
    .detached(
      query: query,
      initialState: QueryState(initialValue: initialValue),
      initialContext: initialContext
    )
  }

  /// Creates a store outside any client, for a query with a default value.
  ///
  /// - Parameters:
  ///   - query: The request.
  ///   - initialContext: The context that the request sets up.
  @inlinable
  public static func detached<Query: _DefaultValueRequest>(
    query: Query,
    initialContext: QueryContext = QueryContext()
  ) -> QueryStore<Query.State> where State == Query.State {
    .detached(query: query, initialState: query._defaultState, initialContext: initialContext)
  }
}
