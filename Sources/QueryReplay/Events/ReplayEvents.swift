import Query

/// The events of a ``MutationReplayer``, from now on: each reader has a stream of its own, which
/// keeps the newest 256 events not yet taken, and says how many it dropped. It ends when the replayer is released,
/// or has finished: see ``Replaying/finish(within:)``.
public struct ReplayEvents: AsyncSequence, Sendable {
  public typealias Element = ReplayEvent
  public typealias Failure = Never

  fileprivate let stream: AsyncStream<ReplayEvent>
  fileprivate let drops: DroppedEvents

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: self.stream.makeAsyncIterator(), drops: self.drops)
  }

  /// Takes the events one after another.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<ReplayEvent>.Iterator
    fileprivate let drops: DroppedEvents
    private var held: ReplayEvent?

    fileprivate init(base: AsyncStream<ReplayEvent>.Iterator, drops: DroppedEvents) {
      self.base = base
      self.drops = drops
    }

    /// The next event; nil when the replayer is gone or has finished, or the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> ReplayEvent? {
      if let held = self.held {
        self.held = nil
        return held
      }
      let event = await self.base.next(isolation: actor)
      guard let event, let count = self.drops.take() else { return event }
      self.held = event
      return .dropped(count)
    }
  }
}

/// Counts what a stream of events has dropped.
private final class DroppedEvents: Sendable {
  private let count = Locked(0)

  func add() { self.count.withLock { $0 += 1 } }

  /// How many since the last call; nil if none.
  func take() -> Int? {
    self.count.withLock { count in
      defer { count = 0 }
      return count > 0 ? count : nil
    }
  }
}

/// Sends the events of a replayer to all listeners.
final class ReplayEventHub: Sendable {
  private struct Listener {
    var continuation: AsyncStream<ReplayEvent>.Continuation
    var drops: DroppedEvents
  }

  private struct Guarded {
    var next = 0
    var listeners = [Int: Listener]()
    var outbox: QuerySubscription?
    var hasEnded = false
  }

  private let guarded = Locked(Guarded())

  deinit { self.end() }

  /// Ends all streams behind the events that they have.
  func end() {
    let (listeners, outbox) = self.guarded.withLock { hub in
      hub.hasEnded = true
      defer { (hub.listeners, hub.outbox) = ([:], nil) }
      return (hub.listeners, hub.outbox)
    }
    for listener in listeners.values { listener.continuation.finish() }
    outbox?.cancel()
  }

  /// A stream of the events from now on.
  ///
  /// - Parameter outbox: The outbox whose events are passed on too; nil if there is none.
  func makeEvents(of outbox: (any MutationOutbox)?) -> ReplayEvents {
    let (stream, continuation) = AsyncStream.makeStream(
      of: ReplayEvent.self, bufferingPolicy: .bufferingNewest(256))
    let drops = DroppedEvents()
    let (number, isFirst, hasEnded) = self.guarded.withLock { hub in
      hub.next += 1
      if hub.hasEnded { return (hub.next, false, true) }
      hub.listeners[hub.next] = Listener(continuation: continuation, drops: drops)
      return (hub.next, hub.outbox == nil, false)
    }
    if hasEnded { continuation.finish() }
    continuation.onTermination = { [weak self] _ in
      let removed = self?.guarded.withLock { $0.listeners.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
    if isFirst, let outbox { self.follow(outbox) }
    return ReplayEvents(stream: stream, drops: drops)
  }

  /// Sends an event to all listeners.
  func send(_ event: ReplayEvent) {
    let listeners = self.guarded.withLock { hub in
      hub.listeners.isEmpty ? [] : Array(hub.listeners.values)
    }
    for listener in listeners {
      if case .dropped = listener.continuation.yield(event) { listener.drops.add() }
    }
  }

  /// Whether anybody listens.
  var hasListeners: Bool { self.guarded.withLock { !$0.listeners.isEmpty } }

  private func follow(_ outbox: any MutationOutbox) {
    let subscription = outbox.subscribe { [weak self] event in
      if let event = ReplayEvent(event) { self?.send(event) }
    }
    // If two threads raced, the later subscription ends with the one returned here.
    let superfluous = self.guarded.withLock { hub -> QuerySubscription? in
      if hub.outbox != nil || hub.hasEnded { return subscription }
      hub.outbox = subscription
      return nil
    }
    superfluous?.cancel()
  }
}
