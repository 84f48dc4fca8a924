/// Hands the events of an outbox to all who subscribed, in the order of the commits.
///
/// An outbox posts under the lock that orders its commits, where nobody is called, and delivers off it:
/// ```swift
/// let result = self.guarded.withLock { outbox in
///   defer { self.hub.post(outbox.takeEvents()) }
///   return outbox.change()
/// }
/// self.hub.deliver()
/// ```
/// Each subscriber gets one event at a time. What is posted while it is called, by another thread or by
/// itself, it gets after that call, from the thread that calls it.
package final class OutboxEventHub: Sendable {
  package typealias Handler = @Sendable (OutboxEvent) -> Void

  /// Guarded by the mutex.
  private struct State {
    var recipients = [Int: Recipient]()
    var lastRecipient = 0
  }

  private let state = Locked(State())

  /// Creates a hub that nobody has subscribed to.
  package init() {}

  /// Takes events to be delivered. Calls nobody.
  package func post(_ events: [OutboxEvent]) {
    if events.isEmpty { return }
    self.state.withLock { state in
      for recipient in state.recipients.values { recipient.post(events) }
    }
  }

  /// Calls the subscribers with what was posted. To be called off every lock.
  package func deliver() {
    let recipients = self.state.withLock { state in
      state.recipients.sorted { $0.key < $1.key }.map(\.value)
    }
    for recipient in recipients { recipient.deliver() }
  }

  /// Calls a handler with what is posted from now on.
  package func subscribe(_ handler: @escaping Handler) -> QuerySubscription {
    let recipient = Recipient(handler)
    let number = self.state.withLock { state in
      state.lastRecipient += 1
      state.recipients[state.lastRecipient] = recipient
      return state.lastRecipient
    }
    return QuerySubscription { [weak self] in
      recipient.cancel()
      // Released after the lock: a handler holds a user's values.
      let removed = self?.state.withLock { $0.recipients.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
  }
}

/// A subscriber and the events that wait for it.
private final class Recipient: Sendable {
  /// Guarded by the mutex. A subscriber that has left takes no more.
  private struct Pending {
    var events = [OutboxEvent]()
    var isDelivering = false
    var isCancelled = false

    mutating func next() -> OutboxEvent? {
      self.isDelivering = !self.isCancelled && !self.events.isEmpty
      return self.isDelivering ? self.events.removeFirst() : nil
    }
  }

  private let handler: OutboxEventHub.Handler
  private let pending = Locked(Pending())

  init(_ handler: @escaping OutboxEventHub.Handler) { self.handler = handler }

  func post(_ events: [OutboxEvent]) { self.pending.withLock { $0.events += events } }

  func deliver() {
    var next = self.pending.withLock { $0.isDelivering ? nil : $0.next() }
    while let event = next {
      self.handler(event)
      next = self.pending.withLock { $0.next() }
    }
  }

  func cancel() { self.pending.withLock { $0.isCancelled = true } }
}
