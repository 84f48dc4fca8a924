public import Synchronization

/// One handler of a store, and how far it has come in the log of the store's events.
///
/// Events are logged under the store's lock, and so in the order of the changes. They are delivered
/// without it, by one thread at a time: a thread that finds another one at work asks that one to
/// look again. So a handler is never called twice at a time, nor under a lock.
// @unchecked: `position` belongs to the thread that set `delivering`; all else guards itself.
@usableFromInline
final class EventMailbox<State: QueryStateProtocol>: ListMember, @unchecked Sendable {
  @usableFromInline let handler: StoreHandler<State>
  @usableFromInline let flags: Atomic<UInt8>
  /// The link to look at next; `nil` if the handler receives no more events.
  ///
  /// Held by this mailbox, but counted by hand: each step would count four times otherwise.
  @exclusivity(unchecked) @usableFromInline var position: Unmanaged<EventLink<State>>?
  private let ending = Locked(Ending())

  private struct Ending {
    /// The link at which a handler that was passed to one fetch stops.
    var end: EventLink<State>?
    /// Callers that wait until no thread is delivering.
    var waiters = [CheckedContinuation<Void, Never>]()
  }

  /// Creates a mailbox.
  ///
  /// - Parameters:
  ///   - handler: The handler.
  ///   - position: The first link that the handler is called for.
  ///   - isClaimed: Whether all threads leave the delivery to the caller, who then owes a call of
  ///     ``deliverClaimed()``.
  @usableFromInline
  init(handler: StoreHandler<State>, position: EventLink<State>, isClaimed: Bool = false) {
    self.handler = handler
    self.position = Unmanaged.passRetained(position)
    self.flags = Atomic(isClaimed ? MailboxFlag.delivering : 0)
  }

  deinit { self.position?.release() }
}

/// The flags of a mailbox.
@usableFromInline
enum MailboxFlag {
  /// A thread is delivering.
  @inlinable static var delivering: UInt8 { 1 }
  /// That thread must look again before it leaves.
  @inlinable static var pending: UInt8 { 2 }
  /// No further call begins.
  @inlinable static var cancelled: UInt8 { 4 }
  /// The thread that delivers calls the handler, or is about to. Set before its first call, in the same
  /// step that finds the mailbox not cancelled.
  @inlinable static var calling: UInt8 { 32 }
  /// A caller waits until no thread is delivering.
  @inlinable static var awaited: UInt8 { 8 }
  /// There is an end.
  @inlinable static var ending: UInt8 { 16 }
}

// MARK: - Delivery

extension EventMailbox {
  /// Calls the handler with all events that it has not seen, unless another thread is doing so.
  @inlinable
  func deliver() {
    guard self.begin() else { return }
    self.deliverAll()
  }

  /// Calls the handler with all events that it has not seen. The caller claimed the delivery.
  @usableFromInline
  func deliverClaimed() {
    // This pass does everything requested so far.
    self.flags.bitwiseAnd(~MailboxFlag.pending, ordering: .acquiringAndReleasing)
    self.deliverAll()
  }

  @inlinable
  func deliverAll() {
    var budget = 1_000
    while true {
      self.deliverLogged(&budget)
      if budget > 0 {
        if self.finish() { return }
      } else if self.flags.load(ordering: .relaxed) & MailboxFlag.pending != 0 {
        return self.handOver()
      } else {
        // No other thread came meanwhile: these are the events of this thread's own changes.
        budget = 1_000
      }
    }
  }

  /// Leaves the rest to a task: the thread that delivers, which may be about to end a fetch, must
  /// not be kept for as long as others change the store faster than the handler follows.
  @usableFromInline
  func handOver() {
    Task.detached { self.deliverClaimed() }
  }

  @inlinable
  func begin() -> Bool {
    // Nearly always no thread is delivering, and there is nothing else to know.
    var flags: UInt8 = 0
    while true {
      let isBusy = flags & MailboxFlag.delivering != 0
      let isCancelled = flags & MailboxFlag.cancelled != 0
      // As a rule there is an event to call the handler with: a step of its own for that costs as much.
      let added =
        isBusy
        ? MailboxFlag.pending
        : MailboxFlag.delivering | (isCancelled ? 0 : MailboxFlag.calling)
      let (exchanged, original) = self.flags.weakCompareExchange(
        expected: flags, desired: flags | added, ordering: .acquiringAndReleasing)
      if exchanged { return !isBusy }
      flags = original
    }
  }

  @inlinable
  func deliverLogged(_ budget: inout Int) {
    while budget > 0, let position = self.position {
      // Before the flags: an event after the end is logged after the flag for it was set.
      let next = position._withUnsafeGuaranteedRef { $0.nextLink }
      let flags = self.flags.load(ordering: .acquiring)
      if flags & (MailboxFlag.cancelled | MailboxFlag.ending) != 0, self.isOver(at: position) {
        self.position = nil
        position.release()
        return
      }
      guard let next else { return }
      // A thread that cancels either finds this flag set, or is found here: no call begins after that.
      if flags & MailboxFlag.calling == 0 {
        let claimed = self.flags.bitwiseOr(MailboxFlag.calling, ordering: .acquiringAndReleasing)
        if claimed.oldValue & MailboxFlag.cancelled != 0 { continue }
      }
      position._withUnsafeGuaranteedRef({ $0.event })?
        ._withUnsafeGuaranteedRef { self.handle($0) }
      self.position = next.retain()
      position.release()
      budget -= 1
    }
  }

  // Not inlined: on its own it calls the closure without counting references to it.
  @inlinable
  @inline(never)
  func handle(_ event: StoreEvent<State>) {
    if event.kind == .stateChanged {
      self.handler.onStateChanged?(event.state, event.context)
    } else {
      self.handler.handle(event)
    }
  }

  @usableFromInline
  func isOver(at position: Unmanaged<EventLink<State>>) -> Bool {
    if self.flags.load(ordering: .acquiring) & MailboxFlag.cancelled != 0 { return true }
    return self.ending.withLock { $0.end === position.takeUnretainedValue() }
  }

  /// - Returns: Whether there is nothing more to look at.
  @inlinable
  func finish() -> Bool {
    // As a rule no other thread came.
    var flags = MailboxFlag.delivering | MailboxFlag.calling
    while true {
      let isPending = flags & MailboxFlag.pending != 0
      let cleared =
        isPending
        ? MailboxFlag.pending | MailboxFlag.calling
        : MailboxFlag.delivering | MailboxFlag.calling | MailboxFlag.awaited
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
  ///
  /// It is not waited for: the handler may be waiting for the thread that cancels.
  ///
  /// - Returns: Whether a call may be under way, on another thread, or around this one.
  @discardableResult
  @usableFromInline
  func cancel() -> Bool {
    let flags = self.flags.bitwiseOr(MailboxFlag.cancelled, ordering: .sequentiallyConsistent)
    // Lets go of the log.
    self.deliver()
    return flags.oldValue & MailboxFlag.calling != 0
  }

  /// Ends delivery with the events that are logged so far. The caller holds the store's lock.
  ///
  /// - Parameter end: The link after the last of them.
  @usableFromInline
  func stop(before end: EventLink<State>) {
    self.ending.withLock { $0.end = end }
    self.flags.bitwiseOr(MailboxFlag.ending, ordering: .sequentiallyConsistent)
  }

  /// Returns when all events are delivered.
  @usableFromInline
  func waitUntilDelivered() async {
    self.deliver()
    await withCheckedContinuation { continuation in
      // Appended before the flag is set, so that the thread that clears the flag finds it.
      self.ending.withLock { $0.waiters.append(continuation) }
      let old = self.flags.bitwiseOr(MailboxFlag.awaited, ordering: .sequentiallyConsistent)
      if old.oldValue & MailboxFlag.delivering == 0 { self.resumeIdleWaiters() }
    }
  }

  @usableFromInline
  func resumeIdleWaiters() {
    let waiters = self.ending.withLock { ending in
      defer { ending.waiters = [] }
      return ending.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
