public import Query

/// Collects the events of a store, in order, so that a test compares the whole sequence.
///
/// ```swift
/// let collector = EventCollector<QueryState<Int?, Int>>()
/// try await store.fetch(handler: collector.handler)
/// #expect(
///   collector.events == [
///     .stateChanged, .fetchingStarted, .returned("1"), .stateChanged, .fetchingEnded,
///   ]
/// )
/// ```
public final class EventCollector<State: QueryStateProtocol>: Sendable {
  /// An event with the context that it came with, and its state if it has one.
  public struct Entry: Sendable {
    /// What happened.
    public let event: ObservedEvent
    /// The context that the handler was called with.
    public let context: QueryContext
    /// The state of a ``ObservedEvent/stateChanged``.
    public let state: State?
  }

  /// All events so far.
  public let entries = Recorder<Entry>()

  /// Creates a collector without events.
  public init() {}

  /// What happened so far.
  public var events: [ObservedEvent] { self.entries.elements.map(\.event) }

  /// The state of each change so far.
  public var states: [State] { self.entries.elements.compactMap(\.state) }

  /// The contexts of all events of a kind.
  public func contexts(of event: ObservedEvent) -> [QueryContext] {
    self.entries.elements.filter { $0.event == event }.map(\.context)
  }

  /// Returns as soon as an event was collected so often.
  public func wait(for event: ObservedEvent, count: Int = 1) async {
    await self.entries.wait { $0.count { $0.event == event } >= count }
  }

  /// The handler to give to a store.
  public var handler: QueryEventHandler<State> {
    QueryEventHandler(
      onStateChanged: { self.append(.stateChanged, $1, $0) },
      onFetchingStarted: { self.append(.fetchingStarted, $0) },
      onFetchingEnded: { self.append(.fetchingEnded, $0) },
      onResultReceived: { result, context in
        let text = spelling(of: result)
        self.append(context.isFinal ? .returned(text) : .yielded(text), context)
      }
    )
  }

  private func append(_ event: ObservedEvent, _ context: QueryContext, _ state: State? = nil) {
    self.entries.append(Entry(event: event, context: context, state: state))
  }
}

// MARK: - Infinite queries and mutations

extension EventCollector {
  /// The handler to give to the store of an infinite query. Pages are spelled by their values, all
  /// pages as an array of these.
  public func infiniteHandler<PageID, PageValue>() -> InfiniteQueryEventHandler<PageID, PageValue>
  where State == InfiniteQueryState<PageID, PageValue> {
    InfiniteQueryEventHandler(
      onStateChanged: { self.append(.stateChanged, $1, $0) },
      onFetchingStarted: { self.append(.fetchingStarted, $0) },
      onPageFetchingStarted: { self.append(.pageStarted("\($0)"), $1) },
      onPageResultReceived: { id, result, context in
        let text = spelling(of: result.map(\.value))
        self.append(
          context.isFinal ? .pageReturned("\(id)", text) : .pageYielded("\(id)", text),
          context
        )
      },
      onResultReceived: { result, context in
        let text = spelling(of: result.map { $0.map(\.value) })
        self.append(context.isFinal ? .returned(text) : .yielded(text), context)
      },
      onPageFetchingEnded: { self.append(.pageEnded("\($0)"), $1) },
      onFetchingEnded: { self.append(.fetchingEnded, $0) }
    )
  }

  /// The handler to give to the store of a mutation.
  public func mutationHandler<Arguments, Value>() -> MutationEventHandler<Arguments, Value>
  where State == MutationState<Arguments, Value> {
    MutationEventHandler(
      onStateChanged: { self.append(.stateChanged, $1, $0) },
      onMutatingStarted: { self.append(.mutatingStarted("\($0)"), $1) },
      onMutationResultReceived: { arguments, result, context in
        let text = spelling(of: result)
        self.append(
          context.isFinal
            ? .mutationReturned("\(arguments)", text) : .mutationYielded("\(arguments)", text),
          context
        )
      },
      onMutatingEnded: { self.append(.mutatingEnded("\($0)"), $1) }
    )
  }
}

private func spelling<Value>(of result: Result<Value, any Error>) -> String {
  switch result {
  case .success(let value): "\(value)"
  case .failure(let error): "\(error)"
  }
}

extension QueryContext {
  fileprivate var isFinal: Bool { self.queryResultUpdateReason == .returnedFinalResult }
}
