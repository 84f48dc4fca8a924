extension QueryClient {
  /// The store of a request, created if there is none at its path.
  ///
  /// If the path has a store, the other arguments are ignored. If that store is of another request
  /// type, ``QueryWarning/duplicatePath(expectedType:foundType:)`` is reported and a new store is
  /// returned that the client does not keep.
  ///
  /// - Parameters:
  ///   - query: The request.
  ///   - initialState: The state of a new store.
  @inlinable
  public func store<Query: QueryRequest>(
    for query: Query,
    initialState: Query.State
  ) -> QueryStore<Query.State> {
    self.resolve(query) { initialState }
  }

  /// The store of a query, created if there is none at its path.
  ///
  /// - Parameters:
  ///   - query: The request.
  ///   - initialValue: The value of a new store before its first fetch.
  @inlinable
  public func store<Query: QueryRequest>(
    for query: Query,
    initialValue: Query.Value? = nil
  ) -> QueryStore<Query.State> where Query.State == QueryState<Query.Value?, Query.Value> {
    self.resolve(query) { QueryState(initialValue: initialValue) }
  }

  /// The store of a query with a default value, created if there is none at its path.
  ///
  /// - Parameter query: The request.
  @inlinable
  public func store<Query: _DefaultValueRequest>(
    for query: Query
  ) -> QueryStore<Query.State> {
    self.resolve(query) { query._defaultState }
  }

  /// The store of an infinite query, created if there is none at its path.
  ///
  /// - Parameters:
  ///   - query: The request.
  ///   - initialValue: The pages of a new store before its first fetch.
  @_disfavoredOverload
  @inlinable
  public func store<Query: InfiniteQueryRequest>(
    for query: Query,
    initialValue: Query.State.StateValue = []
  ) -> QueryStore<Query.State> {
    self.resolve(query) {
      InfiniteQueryState(initialValue: initialValue, initialPageId: query.initialPageId)
    }
  }

  /// The store of a mutation, created if there is none at its path.
  ///
  /// If the store at its path is of a durable mutation that is declared otherwise,
  /// ``QueryWarning/otherDeclaration(_:)`` is reported and a new store is returned that the client does not
  /// keep: what is enqueued in it is stored as this mutation declares.
  ///
  /// - Parameters:
  ///   - mutation: The request.
  ///   - initialValue: The value of a new store before its first attempt.
  @inlinable
  public func store<Mutation: MutationRequest>(
    for mutation: Mutation,
    initialValue: Mutation.State.StateValue = nil
  ) -> QueryStore<Mutation.State> {
    let store = self.resolve(mutation) { MutationState(initialValue: initialValue) }
    guard let disagreement = store.disagreement(with: mutation) else { return store }
    disagreement.report()
    return self.create(
      mutation, at: mutation.path, initialState: MutationState(initialValue: initialValue))
  }
}

// MARK: - Resolution

extension QueryClient {
  @inlinable
  func resolve<Query: QueryRequest>(
    _ query: Query,
    initialState: () -> Query.State
  ) -> QueryStore<Query.State> {
    let path = query.path
    if let cached = self.store(with: path) {
      self.defaultCache?.didUse(cached)
      return self.typed(cached, for: query) ?? self.uncached(cached, query, initialState())
    }
    let mark = self.invalidations.mark
    let created = self.create(query, at: path, initialState: initialState())
    let opaque = OpaqueQueryStore(erasing: created)
    // Another thread may have been faster. Its store wins, and this one is released after the lock.
    let (winner, replaced) = self.withCache { stores -> (OpaqueQueryStore, OpaqueQueryStore?) in
      if opaque.path == path { return (stores.insert(opaque), nil) }
      if let winner = stores[path] { return (winner, nil) }
      // Under its own path, which a user's creator has chosen.
      let replaced = stores[opaque.path]
      stores.update(opaque)
      return (opaque, replaced)
    }
    if let replaced { self.defaultCache?.didReplace(replaced) }
    if winner === opaque {
      self.defaultCache?.didAdd(opaque)
      if self.invalidations.hits(path, since: mark) { created.invalidate() }
      return created
    }
    // A task of its own may keep the loser; a user's creator may return one store twice.
    if winner.erased !== created { created.endControllers() }
    return self.typed(winner, for: query) ?? self.uncached(winner, query, initialState())
  }

  /// The store with its type, if it is one for this request.
  @inlinable
  func typed<Query: QueryRequest>(
    _ store: OpaqueQueryStore,
    for query: Query
  ) -> QueryStore<Query.State>? {
    guard let requestType = store.erased.requestType else {
      // It was put into the cache by hand, so only its state can tell.
      return store.erased as? QueryStore<Query.State>
    }
    guard requestType == Query.self else { return nil }
    return unsafeDowncast(store.erased, to: QueryStore<Query.State>.self)
  }

  @usableFromInline
  func uncached<Query: QueryRequest>(
    _ cached: OpaqueQueryStore,
    _ query: Query,
    _ initialState: Query.State
  ) -> QueryStore<Query.State> {
    let expectedType = cached.erased.requestType ?? type(of: cached.erased)
    QueryWarning.duplicatePath(expectedType: expectedType, foundType: Query.self).report()
    return self.create(query, at: cached.path, initialState: initialState)
  }

  /// Makes a store without keeping it.
  @inlinable
  func create<Query: QueryRequest>(
    _ query: Query,
    at path: QueryPath,
    initialState: Query.State
  ) -> QueryStore<Query.State> {
    // Called by its type if that is known, so that its code is specialised.
    let store =
      if let creator = self.defaultCreator {
        creator.store(
          for: query, at: path,
          begunWith: self.firstContext(of: Query.State.self, creator.defaults), with: initialState)
      } else {
        self.storeCreator.store(for: query, in: self.defaultContext, with: initialState)
      }
    store.setRequestType { Query.self }
    if self.optimistic.isActive { self.optimistic.attach(store) }
    return store
  }
}

extension QueryStore {
  /// What two declarations of a durable mutation disagree about; nil if they do not.
  @usableFromInline
  func disagreement(with mutation: some MutationRequest) -> QueryWarning? {
    guard let storing = self.withLock({ self.storing }) else { return nil }
    var context = QueryContext()
    mutation.setup(context: &context)
    return storing.disagreement(with: context)
  }

  @usableFromInline
  var requestType: Any.Type? { self.makeRequestType?() }

  @usableFromInline
  func setRequestType(_ makeType: @escaping @Sendable () -> Any.Type) {
    self.withLock { self.makeRequestType = makeType }
  }
}
