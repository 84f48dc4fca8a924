public import Synchronization

/// One place in the log of a store's events.
///
/// The log is a chain whose last link is empty. An event fills it and appends a new one; each
/// mailbox holds the link that it has to look at next. So an event is written once for any number
/// of handlers, and is released when the last of them has seen it.
///
/// `event` and `next` are written once, under the store's lock. A thread that sees `next` sees
/// `event`.
// @unchecked: see above; the store to `next` publishes `event`.
@usableFromInline
final class EventLink<State: QueryStateProtocol>: @unchecked Sendable {
  // Held by this link, but read without counting: a count costs as much as a lock.
  @exclusivity(unchecked) @usableFromInline var event: Unmanaged<StoreEvent<State>>?
  @usableFromInline let next = Atomic<UnsafeMutableRawPointer?>(nil)

  @inlinable
  init() {}

  deinit {
    self.event?.release()
    // Link by link: a long chain that no mailbox read would overflow the stack.
    var next = self.takeNext()
    while let pointer = next {
      var link: EventLink? = Unmanaged<EventLink>.fromOpaque(pointer).takeRetainedValue()
      next = isKnownUniquelyReferenced(&link) ? link?.takeNext() : nil
    }
  }

  @usableFromInline
  func takeNext() -> UnsafeMutableRawPointer? {
    self.next.exchange(nil, ordering: .acquiring)
  }

  /// Fills this link, which is the last one.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - next: The link that is the last one from now on.
  @inlinable
  func fill(with event: StoreEvent<State>, next: EventLink) {
    self.event = Unmanaged.passRetained(event)
    self.next.store(Unmanaged.passRetained(next).toOpaque(), ordering: .releasing)
  }

  /// The link after this one, if this one is filled.
  @inlinable
  var nextLink: Unmanaged<EventLink>? {
    self.next.load(ordering: .acquiring).map { Unmanaged<EventLink>.fromOpaque($0) }
  }
}
