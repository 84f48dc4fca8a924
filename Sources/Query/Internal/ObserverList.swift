/// A value that changes, and those who want to hear of it.
///
/// No observer is called under the lock. Each gets the values one at a time and in the order in
/// which they were sent, so that the last one that it gets is the list's. A value that is sent
/// while another thread calls the observer, or from inside it, is delivered after that call.
final class ObserverList<Value: Sendable>: Sendable {
  typealias Observer = @Sendable (Value) -> Void

  /// Guarded by the mutex.
  private struct State {
    var value: Value
    var recipients = [Int: Recipient]()
    var lastRecipient = 0
  }

  /// An observer and the values that wait for it.
  private final class Recipient: Sendable {
    /// Guarded by the mutex. An observer that has left takes no more.
    private struct Pending {
      var values = [Value]()
      var isDelivering = false
      var isCancelled = false

      mutating func next() -> Value? {
        self.isDelivering = !self.isCancelled && !self.values.isEmpty
        return self.isDelivering ? self.values.removeFirst() : nil
      }
    }

    private let observer: Observer
    private let pending = Locked(Pending())

    init(_ observer: @escaping Observer) { self.observer = observer }

    func post(_ value: Value) { self.pending.withLock { $0.values.append(value) } }

    func deliver() {
      var next = self.pending.withLock { $0.isDelivering ? nil : $0.next() }
      while let value = next {
        self.observer(value)
        next = self.pending.withLock { $0.next() }
      }
    }

    func cancel() { self.pending.withLock { $0.isCancelled = true } }
  }

  private let state: Locked<State>

  init(_ value: Value) { self.state = Locked(State(value: value)) }

  var value: Value { self.state.withLock { $0.value } }

  var count: Int { self.state.withLock { $0.recipients.count } }

  /// Changes the value and tells all observers.
  ///
  /// - Parameter isChange: Whether the new value is to be told, given the old one.
  func send(_ value: Value, where isChange: (Value, Value) -> Bool = { _, _ in true }) {
    let recipients = self.state.withLock { state -> [Recipient] in
      guard isChange(state.value, value) else { return [] }
      state.value = value
      let recipients = state.recipients.sorted { $0.key < $1.key }.map(\.value)
      for recipient in recipients { recipient.post(value) }
      return recipients
    }
    for recipient in recipients { recipient.deliver() }
  }

  func subscribe(
    emittingFirst: Bool,
    _ observer: @escaping Observer
  ) -> QuerySubscription {
    let recipient = Recipient(observer)
    let number = self.state.withLock { state in
      state.lastRecipient += 1
      state.recipients[state.lastRecipient] = recipient
      if emittingFirst { recipient.post(state.value) }
      return state.lastRecipient
    }
    recipient.deliver()
    return QuerySubscription { [weak self] in
      recipient.cancel()
      // Released after the lock: an observer holds a user's values.
      let removed = self?.state.withLock { $0.recipients.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
  }
}
