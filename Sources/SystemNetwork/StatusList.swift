import Query

/// A status that changes, and those who want to hear of it.
///
/// No handler is called under a lock. Each gets the statuses one at a time, in order and never the
/// same twice in a row; one that comes while a thread calls the handler follows after that call.
final class StatusList: Sendable {
  typealias Handler = @Sendable (NetworkConnectionStatus) -> Void

  /// Guarded by the mutex.
  private struct State {
    var value: NetworkConnectionStatus
    var recipients = [Int: Recipient]()
    var lastRecipient = 0
  }

  private let state: Locked<State>

  init(_ value: NetworkConnectionStatus) { self.state = Locked(State(value: value)) }

  var value: NetworkConnectionStatus { self.state.withLock { $0.value } }

  /// Changes the status and tells all handlers; does nothing where it is the status already.
  func send(_ value: NetworkConnectionStatus) {
    let recipients = self.state.withLock { state -> [Recipient] in
      guard state.value != value else { return [] }
      state.value = value
      let recipients = state.recipients.sorted { $0.key < $1.key }.map(\.value)
      for recipient in recipients { recipient.post(value) }
      return recipients
    }
    for recipient in recipients { recipient.deliver() }
  }

  /// Calls a handler with the status, before this returns, and with each one that follows.
  func subscribe(_ handler: @escaping Handler) -> QuerySubscription {
    let recipient = Recipient(handler)
    let number = self.state.withLock { state in
      state.lastRecipient += 1
      state.recipients[state.lastRecipient] = recipient
      recipient.post(state.value)
      return state.lastRecipient
    }
    recipient.deliver()
    return QuerySubscription { [weak self] in
      recipient.cancel()
      // Released after the lock: a handler holds a user's values.
      let removed = self?.state.withLock { $0.recipients.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
  }
}

/// A handler and the statuses that wait for it.
private final class Recipient: Sendable {
  /// Guarded by the mutex. A handler that has left takes no more.
  private struct Pending {
    var values = [NetworkConnectionStatus]()
    var isDelivering = false
    var isCancelled = false

    mutating func next() -> NetworkConnectionStatus? {
      self.isDelivering = !self.isCancelled && !self.values.isEmpty
      return self.isDelivering ? self.values.removeFirst() : nil
    }
  }

  private let handler: StatusList.Handler
  private let pending = Locked(Pending())

  init(_ handler: @escaping StatusList.Handler) { self.handler = handler }

  func post(_ value: NetworkConnectionStatus) {
    self.pending.withLock { $0.values.append(value) }
  }

  /// Calls the handler with what waits, unless another thread is about to.
  func deliver() {
    var next = self.pending.withLock { $0.isDelivering ? nil : $0.next() }
    while let value = next {
      self.handler(value)
      next = self.pending.withLock { $0.next() }
    }
  }

  func cancel() { self.pending.withLock { $0.isCancelled = true } }
}
