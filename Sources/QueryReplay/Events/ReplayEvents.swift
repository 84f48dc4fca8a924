import Query

/// The events of a ``MutationReplayer``, from now on: each reader has a stream of its own, which
/// keeps the newest 256 events not yet taken. It ends when the replayer is released.
public struct ReplayEvents: AsyncSequence, Sendable {
  public typealias Element = ReplayEvent
  public typealias Failure = Never

  fileprivate let stream: AsyncStream<ReplayEvent>

  public func makeAsyncIterator() -> Iterator { Iterator(base: self.stream.makeAsyncIterator()) }

  /// Takes the events one after another.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<ReplayEvent>.Iterator

    /// The next event; nil when the replayer is gone or the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> ReplayEvent? {
      await self.base.next(isolation: actor)
    }
  }
}

/// Sends the events of a replayer to all listeners.
final class ReplayEventHub: Sendable {
  private struct Guarded {
    var next = 0
    var continuations = [Int: AsyncStream<ReplayEvent>.Continuation]()
    var outbox: QuerySubscription?
  }

  private let guarded = Locked(Guarded())

  deinit {
    for continuation in self.guarded.withLock({ $0.continuations }).values {
      continuation.finish()
    }
  }

  /// A stream of the events from now on.
  ///
  /// - Parameter outbox: The outbox whose events are passed on too; nil if there is none.
  func makeEvents(of outbox: (any MutationOutbox)?) -> ReplayEvents {
    let (stream, continuation) = AsyncStream.makeStream(
      of: ReplayEvent.self, bufferingPolicy: .bufferingNewest(256))
    let (number, isFirst) = self.guarded.withLock { hub in
      hub.next += 1
      hub.continuations[hub.next] = continuation
      return (hub.next, hub.outbox == nil)
    }
    continuation.onTermination = { [weak self] _ in
      let removed = self?.guarded.withLock { $0.continuations.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
    if isFirst, let outbox { self.follow(outbox) }
    return ReplayEvents(stream: stream)
  }

  /// Sends an event to all listeners.
  func send(_ event: ReplayEvent) {
    let continuations = self.guarded.withLock { hub in
      hub.continuations.isEmpty ? [] : Array(hub.continuations.values)
    }
    for continuation in continuations { continuation.yield(event) }
  }

  private func follow(_ outbox: any MutationOutbox) {
    let subscription = outbox.subscribe { [weak self] event in
      if let event = ReplayEvent(event) { self?.send(event) }
    }
    // If two threads raced, the later subscription ends with the one returned here.
    let superfluous = self.guarded.withLock { hub -> QuerySubscription? in
      if hub.outbox != nil { return subscription }
      hub.outbox = subscription
      return nil
    }
    superfluous?.cancel()
  }
}
