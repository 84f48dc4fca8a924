import CProbes

/// The events of a storage, from now on: each reader has a stream of its own, which keeps the
/// newest 256 events not yet taken. It ends when the storage is released.
public struct StorageEvents: AsyncSequence, Sendable {
  public typealias Element = StorageEvent
  public typealias Failure = Never

  fileprivate let stream: AsyncStream<StorageEvent>

  public func makeAsyncIterator() -> Iterator { Iterator(base: self.stream.makeAsyncIterator()) }

  /// Takes the events one after another.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<StorageEvent>.Iterator

    /// The next event; nil when the storage is gone or the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> StorageEvent? {
      await self.base.next(isolation: actor)
    }
  }
}

/// Sends the events of a storage to all listeners.
///
/// A storage keeps one: `events` is ``makeEvents(startingWith:)``, and what happens goes to ``send(_:)``.
public final class StorageEventHub: Sendable {
  private struct Listeners {
    var next = 0
    var continuations = [Int: AsyncStream<StorageEvent>.Continuation]()
  }

  private let listeners = Locked(Listeners())

  /// Creates a hub without listeners.
  public init() {}

  deinit {
    for continuation in self.listeners.withLock({ $0.continuations }).values {
      continuation.finish()
    }
  }

  /// A stream of the events from now on.
  ///
  /// - Parameter first: What it begins with, such as that the storage is degraded.
  public func makeEvents(startingWith first: StorageEvent? = nil) -> StorageEvents {
    let (stream, continuation) = AsyncStream.makeStream(
      of: StorageEvent.self,
      bufferingPolicy: .bufferingNewest(256)
    )
    let number = self.listeners.withLock { listeners in
      listeners.next += 1
      listeners.continuations[listeners.next] = continuation
      return listeners.next
    }
    if let first { continuation.yield(first) }
    continuation.onTermination = { [weak self] _ in
      let removed = self?.listeners.withLock { $0.continuations.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
    return StorageEvents(stream: stream)
  }

  /// Sends an event to all listeners.
  ///
  /// - Parameter event: What happened.
  public func send(_ event: StorageEvent) {
    switch event {
    case .evicted(let entries): probe_evict(Int64(entries))
    case .degraded(let error): probe_degraded(error.extendedCode.rawValue)
    case .recovered: probe_recovered()
    default: break
    }
    let continuations = self.listeners.withLock { listeners in
      listeners.continuations.isEmpty ? [] : Array(listeners.continuations.values)
    }
    for continuation in continuations { continuation.yield(event) }
  }

  /// Whether anybody listens.
  public var hasListeners: Bool { self.listeners.withLock { !$0.continuations.isEmpty } }
}
