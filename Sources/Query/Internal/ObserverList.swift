import Synchronization

/// A value that changes, and those who want to hear of it. No observer is called under the lock.
final class ObserverList<Value: Sendable>: Sendable {
  typealias Observer = @Sendable (Value) -> Void

  /// Guarded by the mutex.
  private struct State {
    var value: Value
    var observers = [Int: Observer]()
    var lastObserver = 0
  }

  private let state: Mutex<State>

  init(_ value: Value) { self.state = Mutex(State(value: value)) }

  var value: Value { self.state.withLock { $0.value } }

  var count: Int { self.state.withLock { $0.observers.count } }

  /// Changes the value and tells all observers.
  ///
  /// - Parameter isChange: Whether the new value is to be told, given the old one.
  func send(_ value: Value, where isChange: (Value, Value) -> Bool = { _, _ in true }) {
    let observers = self.state.withLock { state -> [Observer] in
      guard isChange(state.value, value) else { return [] }
      state.value = value
      return state.observers.sorted { $0.key < $1.key }.map(\.value)
    }
    for observer in observers { observer(value) }
  }

  func subscribe(
    emittingFirst: Bool,
    _ observer: @escaping Observer
  ) -> QuerySubscription {
    let (number, value) = self.state.withLock { state in
      state.lastObserver += 1
      state.observers[state.lastObserver] = observer
      return (state.lastObserver, state.value)
    }
    if emittingFirst { observer(value) }
    return QuerySubscription { [weak self] in
      // Released after the lock: an observer holds a user's values.
      let removed = self?.state.withLock { $0.observers.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
  }
}
