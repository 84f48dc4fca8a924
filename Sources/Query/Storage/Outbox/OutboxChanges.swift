/// The counts of an outbox, now and after each change. Newer counts replace those that were not
/// taken; counts that could not be read are left out.
public struct OutboxChanges: AsyncSequence, Sendable {
  public typealias Element = OutboxCounts
  public typealias Failure = Never

  private let outbox: any MutationOutbox

  init(of outbox: any MutationOutbox) { self.outbox = outbox }

  public func makeAsyncIterator() -> Iterator { Iterator(self.outbox) }

  /// Takes the counts one after another.
  public struct Iterator: AsyncIteratorProtocol {
    private let outbox: any MutationOutbox
    private let subscription: QuerySubscription
    private var base: AsyncStream<Void>.Iterator
    private var last: OutboxCounts?

    fileprivate init(_ outbox: any MutationOutbox) {
      let (stream, signal) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      self.outbox = outbox
      self.subscription = outbox.subscribe { _ in signal.yield() }
      self.base = stream.makeAsyncIterator()
      signal.yield()
    }

    /// The next counts; nil when the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> OutboxCounts? {
      while await self.base.next(isolation: actor) != nil {
        guard let counts = try? self.outbox.counts, counts != self.last else { continue }
        self.last = counts
        return counts
      }
      return nil
    }
  }
}

extension RecipientList<OutboxEvent> {
  /// Adds events, and delivers them. Here, so that the compiler makes the list for this type, of which
  /// each commit posts some.
  package func send(_ events: [OutboxEvent]) {
    self.post(events)
    self.deliver()
  }
}
