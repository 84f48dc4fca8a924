extension QueryRequest where State: PersistableQueryState {
  /// Keeps the values of this query's stores in the storage of their context, so that it is there
  /// on the next launch, with no network.
  ///
  /// ```swift
  /// let store = client.store(for: NotesQuery(folder: 3).persisted())
  /// store.currentValue  // at once, as of the program's last run
  /// store.origin        // .storage(storedAt: 2026-02-03 04:05:06 +0000)
  /// ```
  /// A store is hydrated when it is created. It shows the stored value with its dates, counts and last
  /// error, wins over an initial or default value, and is never loading; whether it fetches goes by
  /// the stored date. Every later change of the value, fetched or local, an invalidation, and an
  /// error beside the value, is written shortly after; ``QueryStore/reset(using:)`` removes the
  /// stored entry.
  ///
  /// The query is found again by the ``QueryIdentity`` of its path. It may stand anywhere in a chain of
  /// modifiers. Without a storage in the context it only reports a warning.
  ///
  /// - Parameter options: How it is kept.
  @inlinable
  public func persisted(
    _ options: PersistenceOptions = PersistenceOptions()
  ) -> ModifiedQuery<Self, _PersistedModifier<Self>> {
    self.modifier(_PersistedModifier(options: options, name: nil))
  }

  /// Keeps the values as ``persisted(_:)`` does, under a name that outlives the name of the type.
  ///
  /// ```swift
  /// let store = client.store(for: PostQuery(id: 3).persisted(as: "post"))
  /// ```
  /// The stored values are found by this name and by what the path holds besides the names of types:
  /// here by `id`, under its name and with its value. So the request may be renamed, nested, or moved to
  /// another module. Two requests that may be equal but for their types need two names.
  ///
  /// The path does not change, and the name is no part of it: in memory, `client.invalidate(matching:)`
  /// finds the store by the beginning of its path as ever, and not by the name. What is stored is
  /// found, by `client.invalidate(matching:)` and ``QueryStorage/prefetch(matching:)``, under every
  /// beginning of the path, too. If that beginning has values of your own types, it also finds
  /// what is stored of other named queries whose values look alike without the names of their types:
  /// they are fetched again although they need not be.
  ///
  /// What was stored without the name, or under another one, is not found. An identity given by
  /// ``PersistenceOptions/identity`` takes the place of all this.
  ///
  /// - Parameters:
  ///   - name: The query's name on disk.
  ///   - options: How it is kept.
  @inlinable
  public func persisted(
    as name: String,
    _ options: PersistenceOptions = PersistenceOptions()
  ) -> ModifiedQuery<Self, _PersistedModifier<Self>> {
    self.modifier(_PersistedModifier(options: options, name: name))
  }
}

extension MutationRequest {
  /// Not for mutations, whose writes need a name on disk.
  @available(*, unavailable, message: "A mutation is persisted by persisted(as:), with a name.")
  public func persisted(_ options: PersistenceOptions = PersistenceOptions()) -> Self { self }
}

public struct _PersistedModifier<Query: QueryRequest>: _ContextUpdatingQueryModifier
where Query.State: PersistableQueryState {
  @usableFromInline let plan: PersistencePlan

  @inlinable
  init(options: PersistenceOptions, name: String?) {
    self.plan = TypedPersistencePlan<Query.State>(options, name: name)
  }

  public func setup(context: inout QueryContext) { context.persistencePlan = self.plan }
}

extension QueryContext {
  /// The storage of persisted queries. nil by default; a ``QueryClient`` that was created with a
  /// storage sets it.
  public var queryStorage: (any QueryStorage)? {
    get { self[QueryStorageKey.self] }
    set { self[QueryStorageKey.self] = newValue }
  }

  private enum QueryStorageKey: Key {
    static var defaultValue: (any QueryStorage)? { nil }
  }

  /// How the query of this context is persisted; nil if it is not.
  @inlinable
  var persistencePlan: PersistencePlan? {
    get { self[PersistencePlanKey.self] }
    set { self[PersistencePlanKey.self] = newValue }
  }

  @usableFromInline
  enum PersistencePlanKey: Key {
    @inlinable static var defaultValue: PersistencePlan? { nil }
  }
}
