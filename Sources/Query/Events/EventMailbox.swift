public import Synchronization

/// The events that wait for one handler, and the order in which it gets them.
///
/// Events are put in under the store's lock, and so in the order of the changes. They are taken
/// out without it, by one thread at a time: one that finds another thread at work leaves its event
/// to that one. So a handler is never called twice at a time, nor under a lock.
@usableFromInline
final class EventMailbox<State: QueryStateProtocol>: Sendable, Identifiable {
  @usableFromInline typealias Event = StoreEvent<State>

  /// Guarded by the mutex.
  @usableFromInline
  struct Contents {
    // Nearly always there is one event at most, which needs no array.
    @usableFromInline var first: Event?
    @usableFromInline var rest = [Event]()
    /// How many of `rest` were taken out.
    @usableFromInline var takenCount = 0
    /// Whether a thread is between two takings.
    @usableFromInline var isDelivering = false
    @usableFromInline var isCancelled = false
    @usableFromInline var idleWaiters = [CheckedContinuation<Void, Never>]()

    @inlinable
    init() {}
  }

  @usableFromInline let handler: StoreHandler<State>
  @usableFromInline let contents = Mutex(Contents())
  /// Whether the handler was given to one fetch, and so is no subscriber.
  @usableFromInline let isTemporary: Bool

  @usableFromInline
  init(handler: StoreHandler<State>, isTemporary: Bool) {
    self.handler = handler
    self.isTemporary = isTemporary
  }

  @usableFromInline
  var id: ObjectIdentifier { ObjectIdentifier(self) }
}

// MARK: - Delivery

extension EventMailbox {
  /// Puts an event in. The caller holds the store's lock, and delivers after it let go.
  @inlinable
  func post(_ event: Event) {
    self.contents.withLock { contents in
      if contents.first == nil && contents.rest.isEmpty {
        contents.first = event
      } else {
        contents.rest.append(event)
      }
    }
  }

  /// Calls the handler with all events that wait, where no other thread does so already.
  @inlinable
  func deliver() {
    guard var event = self.contents.withLock({ $0.begin() }) else { return }
    while true {
      self.handler.handle(event)
      guard let next = self.contents.withLock({ $0.next() }) else { break }
      event = next
    }
    self.resumeIdleWaiters()
  }

  /// Ends all delivery. A call that is under way goes on; no other begins.
  @usableFromInline
  func cancel() {
    // Released after the lock: an event may hold the last reference to a user's value.
    let dropped = self.contents.withLock { contents -> (Event?, [Event]) in
      contents.isCancelled = true
      defer { contents.clear() }
      return (contents.first, contents.rest)
    }
    withExtendedLifetime(dropped) {}
  }

  /// Returns when no event waits and no call is under way.
  @usableFromInline
  func waitUntilIdle() async {
    self.deliver()
    let isIdle = self.contents.withLock { !$0.isDelivering }
    if isIdle { return }
    await withCheckedContinuation { continuation in
      let isIdle = self.contents.withLock { contents in
        if contents.isDelivering { contents.idleWaiters.append(continuation) }
        return !contents.isDelivering
      }
      if isIdle { continuation.resume() }
    }
  }

  @inlinable
  func resumeIdleWaiters() {
    let waiters = self.contents.withLock { contents -> [CheckedContinuation<Void, Never>] in
      guard !contents.idleWaiters.isEmpty, !contents.isDelivering else { return [] }
      defer { contents.idleWaiters = [] }
      return contents.idleWaiters
    }
    for waiter in waiters { waiter.resume() }
  }
}

extension EventMailbox.Contents {
  @inlinable
  mutating func begin() -> StoreEvent<State>? {
    guard !self.isDelivering, let event = self.take() else { return nil }
    self.isDelivering = true
    return event
  }

  @inlinable
  mutating func next() -> StoreEvent<State>? {
    if let event = self.take() { return event }
    self.isDelivering = false
    return nil
  }

  @inlinable
  mutating func take() -> StoreEvent<State>? {
    if self.isCancelled {
      self.clear()
      return nil
    }
    if let event = self.first {
      self.first = nil
      return event
    }
    guard self.takenCount < self.rest.count else { return nil }
    let event = self.rest[self.takenCount]
    self.takenCount += 1
    if self.takenCount == self.rest.count {
      self.rest.removeAll()
      self.takenCount = 0
    }
    return event
  }

  @usableFromInline
  mutating func clear() {
    self.first = nil
    self.rest = []
    self.takenCount = 0
  }
}
