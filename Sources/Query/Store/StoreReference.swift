/// The store that a context belongs to, without keeping it alive.
@usableFromInline
final class StoreReference: Sendable, CustomStringConvertible {
  @usableFromInline weak let store: (any ErasedQueryStore)?

  @usableFromInline
  init(_ store: any ErasedQueryStore) { self.store = store }

  @usableFromInline
  var description: String { self.store.map { "\($0.path)" } ?? "nil" }
}

extension QueryContext {
  /// The store that the fetch with this context belongs to, or `nil` outside a fetch.
  ///
  /// The context does not keep the store alive.
  public var currentFetchingQueryStore: OpaqueQueryStore? {
    get { self[CurrentStoreKey.self]?.store.map { OpaqueQueryStore(erased: $0) } }
    set { self[CurrentStoreKey.self] = newValue.map { StoreReference($0.erased) } }
  }

  /// The store that the fetch with this context belongs to, if its state has the given type.
  @inlinable
  func currentStore<State: QueryStateProtocol>(of type: State.Type) -> QueryStore<State>? {
    self[CurrentStoreKey.self]?.store as? QueryStore<State>
  }

  @usableFromInline
  enum CurrentStoreKey: Key {
    @inlinable static var defaultValue: StoreReference? { nil }
  }
}

extension QueryContext {
  /// Records that this context belongs to the task that another one belongs to.
  @usableFromInline
  mutating func takeTask(of context: QueryContext) {
    self[RunningTaskKey.self] = context[RunningTaskKey.self]
    self[CurrentStoreKey.self] = context[CurrentStoreKey.self]
  }

  /// This context without what it has of a task, and of an event, that it was taken from.
  @usableFromInline
  var withoutTask: QueryContext {
    var context = self
    if context[RunningTaskKey.self] != nil { context[RunningTaskKey.self] = nil }
    if context[CurrentStoreKey.self] != nil { context[CurrentStoreKey.self] = nil }
    if context.queryResultUpdateReason != nil { context.queryResultUpdateReason = nil }
    return context
  }
}
