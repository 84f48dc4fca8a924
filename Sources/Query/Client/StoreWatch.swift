import Synchronization

/// The listeners of the stores that a cache adds and removes.
///
/// Changes are found by comparing the stores before and after an access, and only while somebody
/// listens; parts that are the same are skipped.
final class StoreWatch: Sendable {
  private let recipients = RecipientList<QueryClient.StoreChange>()
  private let listeners = Atomic(0)

  /// The stores before an access. Call it, and ``end(_:_:)``, under the lock of the stores.
  ///
  /// - Returns: nil if nobody listens.
  func begin(
    _ stores: QueryPathableCollection<OpaqueQueryStore>
  ) -> QueryPathableCollection<OpaqueQueryStore>? {
    self.listeners.load(ordering: .sequentiallyConsistent) > 0 ? stores : nil
  }

  /// Posts what has changed since ``begin(_:)``.
  func end(
    _ before: QueryPathableCollection<OpaqueQueryStore>?,
    _ stores: QueryPathableCollection<OpaqueQueryStore>
  ) {
    guard let before else { return }
    var changes = [QueryClient.StoreChange]()
    let isSame = { (old: OpaqueQueryStore, new: OpaqueQueryStore) in old.erased === new.erased }
    before.forEachDifference(to: stores, by: isSame) { _, old, new in
      if let old { changes.append(.removed(old)) }
      if let new { changes.append(.added(new)) }
    }
    self.recipients.post(changes)
  }

  /// Calls the listeners, or puts that off while the thread holds a client's lock. Call it without the
  /// lock of the stores.
  func deliver() {
    guard self.listeners.load(ordering: .relaxed) > 0 else { return }
    let isDeferred = ControllerStart.isDeferred { self.recipients.deliver() }
    if !isDeferred { self.recipients.deliver() }
  }

  func subscribe(
    _ onChange: @escaping @Sendable (QueryClient.StoreChange) -> Void
  ) -> QuerySubscription {
    let addition = self.recipients.subscribe(onChange)
    self.listeners.add(1, ordering: .sequentiallyConsistent)
    return .combined([
      addition,
      QuerySubscription { self.listeners.subtract(1, ordering: .sequentiallyConsistent) },
    ])
  }
}

extension QueryClient {
  /// What happened to the stores of a client.
  public enum StoreChange: Sendable {
    /// The client keeps a store that it did not keep before.
    case added(OpaqueQueryStore)
    /// The client has let go of a store: it was cleared, or evicted.
    case removed(OpaqueQueryStore)

    /// The store.
    public var store: OpaqueQueryStore {
      switch self {
      case .added(let store), .removed(let store): store
      }
    }
  }

  /// Calls a handler whenever this client adds or removes a store whose path begins with another one.
  ///
  /// The handler is called without a lock, with one change at a time, in the order of the changes, and
  /// after them: the store of a change may be gone again. Clients that share a cache hear of one
  /// another's stores. Of a cache of one's own, changes are seen that are made through this client.
  ///
  /// - Parameters:
  ///   - path: The beginning of the paths. The empty path finds all stores.
  ///   - onChange: Receives the changes from now on, until the subscription is cancelled. A call that is
  ///     under way on another thread by then goes on.
  /// - Returns: The subscription. It ends, too, when its last copy is released, and keeps neither the
  ///   client nor a store.
  public func subscribe(
    matching path: QueryPath = QueryPath(),
    onChange: @escaping @Sendable (StoreChange) -> Void
  ) -> QuerySubscription {
    self.watch.subscribe { change in
      if path.isPrefix(of: change.store.path) { onChange(change) }
    }
  }
}
