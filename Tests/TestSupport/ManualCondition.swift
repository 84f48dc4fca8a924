public import Query

/// A condition that the test sets.
public final class ManualCondition: FetchCondition {
  /// Guarded by the mutex.
  private struct State {
    var value: Bool
    var lastId = 0
    var observers = [Int: @Sendable (Bool) -> Void]()
  }

  private let state: Locked<State>

  /// Creates a condition.
  public init(_ value: Bool) { self.state = Locked(State(value: value)) }

  /// How many observe the condition now.
  public var observerCount: Int { self.state.withLock { $0.observers.count } }

  /// Changes the condition and calls its observers, without a lock.
  public func send(_ value: Bool) {
    let observers = self.state.withLock { state in
      state.value = value
      return state.observers
    }
    for (_, observer) in observers.sorted(by: { $0.key < $1.key }) { observer(value) }
  }

  public func isSatisfied(in context: QueryContext) -> Bool { self.state.withLock { $0.value } }

  public func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    let id = self.state.withLock { state in
      state.lastId += 1
      state.observers[state.lastId] = observer
      return state.lastId
    }
    return QuerySubscription { _ = self.state.withLock { $0.observers.removeValue(forKey: id) } }
  }
}
