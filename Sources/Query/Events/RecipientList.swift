/// The recipients of values; each gets them one at a time and in the order in which they were
/// posted.
///
/// Posting calls no recipient, so it may be done under the lock that orders the values; delivering
/// is done outside all locks:
/// ```swift
/// let result = self.guarded.withLock { outbox in
///   defer { self.events.post(outbox.takeEvents()) }
///   return outbox.change()
/// }
/// self.events.deliver()
/// ```
/// A value posted while a recipient is being called, by another thread or by the recipient itself,
/// is delivered after that call, by the thread that makes it.
package final class RecipientList<Value: Sendable>: Sendable {
  package typealias Handler = @Sendable (Value) -> Void

  /// A handler and the values that wait for it.
  fileprivate final class Recipient: ListMember, Sendable {
    // Guarded by the list's lock.
    nonisolated(unsafe) var place = 0

    /// Guarded by the mutex. A handler that has left takes no more.
    private struct Pending {
      var values = [Value]()
      var isDelivering = false
      var isCancelled = false

      /// The values to deliver now; may be empty.
      mutating func take() -> [Value] {
        self.isDelivering = !self.isCancelled && !self.values.isEmpty
        if !self.isDelivering { return [] }
        defer { self.values = [] }
        return self.values
      }
    }

    private let handler: Handler
    private let pending = Locked(Pending())

    /// - Parameter values: Those that wait for ``begin()``. If there are any, nobody else delivers before
    ///   it.
    init(_ handler: @escaping Handler, startingWith values: [Value]) {
      self.handler = handler
      self.pending.withLock { $0 = Pending(values: values, isDelivering: !values.isEmpty) }
    }

    func post(_ values: [Value]) { self.pending.withLock { $0.values += values } }

    /// Calls the handler with what waits, unless another thread is about to.
    func deliver() {
      self.deliver(self.pending.withLock { $0.isDelivering ? [] : $0.take() })
    }

    /// Calls the handler with what it starts with.
    func begin() { self.deliver(self.pending.withLock { $0.take() }) }

    private func deliver(_ first: [Value]) {
      var values = first
      while !values.isEmpty {
        for value in values {
          if self.pending.withLock({ $0.isCancelled }) { break }
          self.handler(value)
        }
        values = self.pending.withLock { $0.take() }
      }
    }

    func cancel() { self.pending.withLock { $0.isCancelled = true } }
  }

  /// What has come of ``add(_:startingWith:)``.
  package struct Addition: Sendable {
    fileprivate let recipient: Recipient

    fileprivate init(_ recipient: Recipient) { self.recipient = recipient }

    /// Calls the handler with what it starts with, before this returns, and with what was posted since.
    /// Call it once, outside all locks.
    package func deliver() { self.recipient.begin() }
  }

  private let recipients = Locked(MemberList<Recipient>())

  /// Creates a list without recipients.
  package init() {}

  /// How many are on it.
  package var count: Int { self.recipients.withLock { $0.count } }

  /// Adds values to be delivered. Calls no recipient.
  package func post(_ values: [Value]) {
    if values.isEmpty { return }
    self.recipients.withLock { recipients in
      for recipient in recipients.places { recipient?.post(values) }
    }
  }

  /// Calls the handlers with the posted values, the oldest first. Call it outside all locks.
  package func deliver() {
    for recipient in self.recipients.withLock({ $0.places }) { recipient?.deliver() }
  }

  /// Adds a handler for values posted from now on. Does not call it.
  ///
  /// - Parameters:
  ///   - handler: Takes the values.
  ///   - values: What it gets first, by ``Addition/deliver()`` alone: if another thread could deliver
  ///     it, the one that adds would not know that the handler has been called.
  package func add(
    _ handler: @escaping Handler,
    startingWith values: [Value] = []
  ) -> Addition {
    let recipient = Recipient(handler, startingWith: values)
    self.recipients.withLock { $0.append(recipient) }
    return Addition(recipient)
  }

  /// What takes a handler off the list.
  package func subscription(of addition: Addition) -> QuerySubscription {
    let recipient = addition.recipient
    // The handler, which holds a user's values, is released with this, outside the lock.
    return QuerySubscription { [weak self] in
      recipient.cancel()
      self?.recipients.withLock { $0.remove(recipient) }
    }
  }

  /// Calls a handler with values posted from now on.
  package func subscribe(_ handler: @escaping Handler) -> QuerySubscription {
    // Without values to start with there is nothing to wait for.
    self.subscription(of: self.add(handler))
  }
}
