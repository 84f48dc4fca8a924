/// How a query is persisted: carried in the context from the modifier to the store.
// @unchecked: its constants are Sendable, and its subclass has no variables.
@usableFromInline
class PersistencePlan: @unchecked Sendable {
  @usableFromInline let options: PersistenceOptions
  /// The name on disk; nil: it is found by its path alone.
  @usableFromInline let name: String?

  @inlinable
  init(_ options: PersistenceOptions, name: String?) {
    self.options = options
    self.name = name
  }

  /// Connects a new store to the storage of its context, and hydrates it.
  ///
  /// - Parameters:
  ///   - store: A store that no other thread has seen yet.
  ///   - queryName: The name of the query, for warnings.
  @usableFromInline
  final func attach<State: QueryStateProtocol>(
    _ store: QueryStore<State>,
    _ queryName: @autoclosure () -> String
  ) {
    guard let storage = store.context.queryStorage else {
      PersistenceWarnings.reportOnce(.noStorage(query: queryName()), for: "no storage")
      return
    }
    if self.attachTyped(store, of: State.self, to: storage, queryName) { return }
    // A modifier around this one, such as a default value, has changed the state type.
    guard let type = State.self as? any PersistableQueryState.Type else { return }
    func open<S: PersistableQueryState>(_: S.Type) {
      guard S.self == State.self else { return }
      let typed = unsafeDowncast(store, to: QueryStore<S>.self)
      typed.attach(to: storage, self, queryName)
    }
    open(type)
  }

  /// - Returns: Whether the store has the state that the plan was made for.
  fileprivate func attachTyped(
    _ store: AnyObject,
    of state: Any.Type,
    to storage: any QueryStorage,
    _ queryName: () -> String
  ) -> Bool {
    false
  }
}

/// The plan of a query whose state type is known.
@usableFromInline
final class TypedPersistencePlan<State: PersistableQueryState>:
  // @unchecked: as the plan.
  PersistencePlan, @unchecked Sendable
{
  @inlinable
  override init(_ options: PersistenceOptions, name: String?) { super.init(options, name: name) }

  override fileprivate func attachTyped(
    _ store: AnyObject,
    of state: Any.Type,
    to storage: any QueryStorage,
    _ queryName: () -> String
  ) -> Bool {
    // Much cheaper than asking whether a state conforms, or for the type of its store.
    guard state == State.self else { return false }
    unsafeDowncast(store, to: QueryStore<State>.self).attach(to: storage, self, queryName)
    return true
  }
}
