public import Synchronization

/// One handler of a store, and how far it has come in the log of the store's events.
///
/// Events are logged under the store's lock, and so in the order of the changes. They are delivered
/// without it, by one thread at a time: one that finds another thread at work asks that one to look
/// again. So a handler is never called twice at a time, nor under a lock.
// @unchecked: `position` belongs to the thread that set `delivering`, `end` to the store's lock.
@usableFromInline
final class EventMailbox<State: QueryStateProtocol>: @unchecked Sendable {
  @usableFromInline let handler: StoreHandler<State>
  @usableFromInline let flags = Atomic<UInt8>(0)
  /// The link to look at next; `nil` where the handler hears of nothing more.
  ///
  /// Held by this mailbox, but counted by hand: each step would count four times otherwise.
  @exclusivity(unchecked) @usableFromInline var position: Unmanaged<EventLink<State>>?
  /// Where a handler that was given to one fetch stops.
  private let end = Mutex<EventLink<State>?>(nil)
  private let idleWaiters = Mutex([CheckedContinuation<Void, Never>]())

  /// Creates a mailbox.
  ///
  /// - Parameters:
  ///   - handler: What is called.
  ///   - position: The first link that the handler is called for.
  @usableFromInline
  init(handler: StoreHandler<State>, position: EventLink<State>) {
    self.handler = handler
    self.position = Unmanaged.passRetained(position)
  }

  deinit { self.position?.release() }
}

/// The flags of a mailbox.
@usableFromInline
enum MailboxFlag {
  /// A thread is delivering.
  @inlinable static var delivering: UInt8 { 1 }
  /// That thread has to look again before it leaves.
  @inlinable static var pending: UInt8 { 2 }
  /// No further call begins.
  @inlinable static var cancelled: UInt8 { 4 }
  /// Somebody waits until no thread is delivering.
  @inlinable static var awaited: UInt8 { 8 }
  /// There is an end.
  @inlinable static var ending: UInt8 { 16 }
}

// MARK: - Delivery

extension EventMailbox {
  /// Calls the handler with all events that it has not seen, where no other thread does so already.
  @inlinable
  func deliver() {
    guard self.begin() else { return }
    repeat { self.deliverLogged() } while !self.finish()
  }

  @inlinable
  func begin() -> Bool {
    var flags = self.flags.load(ordering: .relaxed)
    while true {
      let isBusy = flags & MailboxFlag.delivering != 0
      let (exchanged, original) = self.flags.weakCompareExchange(
        expected: flags,
        desired: flags | (isBusy ? MailboxFlag.pending : MailboxFlag.delivering),
        ordering: .acquiringAndReleasing
      )
      if exchanged { return !isBusy }
      flags = original
    }
  }

  @inlinable
  func deliverLogged() {
    while let position = self.position {
      let flags = self.flags.load(ordering: .relaxed)
      if flags & (MailboxFlag.cancelled | MailboxFlag.ending) != 0, self.isOver(at: position) {
        self.position = nil
        position.release()
        return
      }
      guard let next = position._withUnsafeGuaranteedRef({ $0.nextLink }) else { return }
      position._withUnsafeGuaranteedRef({ $0.event })?
        ._withUnsafeGuaranteedRef { self.handler.handle($0) }
      self.position = next.retain()
      position.release()
    }
  }

  @usableFromInline
  func isOver(at position: Unmanaged<EventLink<State>>) -> Bool {
    if self.flags.load(ordering: .acquiring) & MailboxFlag.cancelled != 0 { return true }
    return self.end.withLock { $0 === position.takeUnretainedValue() }
  }

  /// - Returns: Whether there is nothing more to look at.
  @inlinable
  func finish() -> Bool {
    var flags = self.flags.load(ordering: .relaxed)
    while true {
      let isPending = flags & MailboxFlag.pending != 0
      let cleared = isPending ? MailboxFlag.pending : MailboxFlag.delivering | MailboxFlag.awaited
      let (exchanged, original) = self.flags.weakCompareExchange(
        expected: flags,
        desired: flags & ~cleared,
        ordering: .acquiringAndReleasing
      )
      if exchanged {
        if !isPending && flags & MailboxFlag.awaited != 0 { self.resumeIdleWaiters() }
        return !isPending
      }
      flags = original
    }
  }
}

// MARK: - Ending

extension EventMailbox {
  /// Ends all delivery. A call that is under way goes on; no other begins.
  @usableFromInline
  func cancel() {
    self.flags.bitwiseOr(MailboxFlag.cancelled, ordering: .sequentiallyConsistent)
    // Lets go of the log.
    self.deliver()
  }

  /// Ends delivery with the events that are logged so far, and returns when they are delivered.
  ///
  /// - Parameter end: The link after the last of them.
  @usableFromInline
  func waitUntilDelivered(before end: EventLink<State>) async {
    self.end.withLock { $0 = end }
    self.flags.bitwiseOr(MailboxFlag.ending, ordering: .sequentiallyConsistent)
    self.deliver()
    await withCheckedContinuation { continuation in
      // Put in before the flag is set, so that who clears the flag finds it.
      self.idleWaiters.withLock { $0.append(continuation) }
      let old = self.flags.bitwiseOr(MailboxFlag.awaited, ordering: .sequentiallyConsistent)
      if old.oldValue & MailboxFlag.delivering == 0 { self.resumeIdleWaiters() }
    }
  }

  @usableFromInline
  func resumeIdleWaiters() {
    let waiters = self.idleWaiters.withLock { waiters in
      defer { waiters = [] }
      return waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
