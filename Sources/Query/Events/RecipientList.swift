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
  // @unchecked: `pending` is guarded by the list's lock. Every store has a recipient or two, and a lock of its own
  // would be another object in each.
  fileprivate final class Recipient: ListMember, @unchecked Sendable {
    var pending: Pending

    let handler: Handler

    init(_ handler: @escaping Handler, startingWith values: [Value]) {
      self.handler = handler
      self.pending = Pending(values: values, isDelivering: !values.isEmpty)
    }
  }

  /// What waits for a recipient. One that has left takes no more.
  fileprivate struct Pending {
    /// Those of a new recipient wait for ``Addition/deliver()``: nobody else delivers before it.
    var values: [Value]
    var isDelivering: Bool
    var isCancelled = false

    /// The values to deliver now; may be empty.
    mutating func take() -> [Value] {
      self.isDelivering = !self.isCancelled && !self.values.isEmpty
      if !self.isDelivering { return [] }
      defer { self.values = [] }
      return self.values
    }
  }

  /// What takes a recipient off the list.
  // @unchecked: `recipient` belongs to the one that calls `end()`.
  private final class Membership: Cancellation, @unchecked Sendable {
    private weak let list: RecipientList?
    private var recipient: Recipient?

    init(of recipient: Recipient, on list: RecipientList) {
      self.list = list
      self.recipient = recipient
    }

    deinit { self.cancel() }

    override func end() {
      // Taken out, so that the handler and a user's values in it are released with the call, outside the lock.
      // Not by a method of `Optional`, whose type would be looked up.
      guard let recipient = self.recipient else { return }
      self.recipient = nil
      self.list?.remove(recipient)
    }
  }

  /// What has come of ``add(_:startingWith:)``.
  package struct Addition: Sendable {
    fileprivate let recipient: Recipient
    fileprivate let list: RecipientList

    /// Calls the handler with what it starts with, before this returns, and with what was posted since.
    /// Call it once, outside all locks.
    package func deliver() {
      let values = self.list.recipients.withLock { _ in self.recipient.pending.take() }
      self.list.deliver(values, to: self.recipient)
    }
  }

  /// Objects of the type ``Recipient``.
  private let recipients = Locked(AnyMemberList())

  /// Creates a list without recipients.
  package init() {}

  /// How many are on it.
  package var count: Int { self.recipients.withLock { $0.count } }

  /// Adds values to be delivered. Calls no recipient.
  package func post(_ values: [Value]) {
    if values.isEmpty { return }
    self.recipients.withLock { recipients in
      for case let member? in recipients.places {
        unsafeDowncast(member, to: Recipient.self).pending.values += values
      }
    }
  }

  /// Calls the handlers with the posted values, the oldest first. Call it outside all locks.
  package func deliver() {
    // Read under the lock: see `withUncountedMembers(_:)`.
    let recipients = self.recipients.withLock { recipients in
      recipients.places.compactMap { $0.map { unsafeDowncast($0, to: Recipient.self) } }
    }
    for recipient in recipients {
      // Another thread may be about to call it.
      let values = self.recipients.withLock { _ in
        recipient.pending.isDelivering ? [] : recipient.pending.take()
      }
      self.deliver(values, to: recipient)
    }
  }

  private func deliver(_ first: [Value], to recipient: Recipient) {
    var values = first
    while !values.isEmpty {
      for value in values {
        if self.recipients.withLock({ _ in recipient.pending.isCancelled }) { break }
        recipient.handler(value)
      }
      values = self.recipients.withLock { _ in recipient.pending.take() }
    }
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
    return Addition(recipient: recipient, list: self)
  }

  private func remove(_ recipient: Recipient) {
    // What waits for it is released with it.
    self.recipients.withLock { recipients in
      recipients.remove(recipient)
      (recipient.pending.isDelivering, recipient.pending.isCancelled) = (false, true)
    }
  }

  /// What takes a handler off the list.
  package func subscription(of addition: Addition) -> QuerySubscription {
    QuerySubscription(Membership(of: addition.recipient, on: self))
  }

  /// Calls a handler with values posted from now on.
  package func subscribe(_ handler: @escaping Handler) -> QuerySubscription {
    // Without values to start with there is nothing to wait for.
    self.subscription(of: self.add(handler))
  }
}
