/// What an event of a store tells.
@usableFromInline
enum StoreEventKind: UInt8, Sendable {
  case stateChanged
  case fetchingStarted
  case fetchingEnded
  /// A ``StoreResultEvent``, and no other event is one.
  case resultReceived
  /// Reported by a request itself, such as the start of a page.
  case reported
}

/// Several kinds of events.
@usableFromInline
struct StoreEventKinds: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt8

  @inlinable
  init(rawValue: UInt8) { self.rawValue = rawValue }

  @inlinable
  init(_ kind: StoreEventKind) { self.rawValue = 1 << kind.rawValue }
}

/// One event of a store, as its handlers will see it, whenever they reach it.
// @unchecked: it and its subclass have constants alone, which are Sendable.
@usableFromInline
class StoreEvent<State: QueryStateProtocol>: @unchecked Sendable {
  // Plain constants rather than payloads: a handler borrows the values it is called with, while a
  // payload would be copied for each handler.
  @usableFromInline final let kind: StoreEventKind
  /// The state after the change that this event is about.
  @usableFromInline final let state: State
  @usableFromInline final let context: QueryContext
  @usableFromInline final let report: (any Sendable)?

  @inlinable
  init(_ kind: StoreEventKind, state: State, context: QueryContext, report: (any Sendable)? = nil) {
    self.kind = kind
    self.state = state
    self.context = context
    self.report = report
  }

  /// The same event, with another state.
  func with(_ state: State) -> StoreEvent {
    StoreEvent(self.kind, state: state, context: self.context, report: self.report)
  }
}

/// A value or an error that a fetch has yielded or ended with. Of a type of its own: the type of a result is
/// looked up whenever an event with one is released, and most have none.
// @unchecked: see above.
@usableFromInline
final class StoreResultEvent<State: QueryStateProtocol>: StoreEvent<State>, @unchecked Sendable {
  @usableFromInline let result: Result<State.QueryValue, any Error>

  @inlinable
  init(_ result: Result<State.QueryValue, any Error>, state: State, context: QueryContext) {
    self.result = result
    super.init(.resultReceived, state: state, context: context)
  }

  override func with(_ state: State) -> StoreEvent<State> {
    StoreResultEvent(self.result, state: state, context: self.context)
  }
}

/// The closures that a store calls, whatever kind of handler they come from.
@usableFromInline
struct StoreHandler<State: QueryStateProtocol>: Sendable {
  @usableFromInline var onStateChanged: (@Sendable (State, QueryContext) -> Void)?
  @usableFromInline var onFetchingStarted: (@Sendable (QueryContext) -> Void)?
  @usableFromInline var onFetchingEnded: (@Sendable (QueryContext) -> Void)?
  @usableFromInline var onResultReceived:
    (@Sendable (Result<State.QueryValue, any Error>, State, QueryContext) -> Void)?
  @usableFromInline var onReported: (@Sendable (any Sendable, QueryContext) -> Void)?

  @inlinable
  init(
    onStateChanged: (@Sendable (State, QueryContext) -> Void)? = nil,
    onFetchingStarted: (@Sendable (QueryContext) -> Void)? = nil,
    onFetchingEnded: (@Sendable (QueryContext) -> Void)? = nil,
    onResultReceived: (
      @Sendable (Result<State.QueryValue, any Error>, State, QueryContext) -> Void
    )? = nil,
    onReported: (@Sendable (any Sendable, QueryContext) -> Void)? = nil
  ) {
    self.onStateChanged = onStateChanged
    self.onFetchingStarted = onFetchingStarted
    self.onFetchingEnded = onFetchingEnded
    self.onResultReceived = onResultReceived
    self.onReported = onReported
  }

  /// The events that it has a closure for.
  @inlinable
  var kinds: StoreEventKinds {
    var kinds: StoreEventKinds = []
    if self.onStateChanged != nil { kinds.formUnion(StoreEventKinds(.stateChanged)) }
    if self.onFetchingStarted != nil { kinds.formUnion(StoreEventKinds(.fetchingStarted)) }
    if self.onFetchingEnded != nil { kinds.formUnion(StoreEventKinds(.fetchingEnded)) }
    if self.onResultReceived != nil { kinds.formUnion(StoreEventKinds(.resultReceived)) }
    if self.onReported != nil { kinds.formUnion(StoreEventKinds(.reported)) }
    return kinds
  }

  @inlinable
  var isEmpty: Bool { self.kinds.isEmpty }

  @inlinable
  func handle(_ event: StoreEvent<State>) {
    switch event.kind {
    case .stateChanged: self.onStateChanged?(event.state, event.context)
    case .fetchingStarted: self.onFetchingStarted?(event.context)
    case .fetchingEnded: self.onFetchingEnded?(event.context)
    case .resultReceived:
      let event = unsafeDowncast(event, to: StoreResultEvent<State>.self)
      self.onResultReceived?(event.result, event.state, event.context)
    case .reported:
      if let report = event.report { self.onReported?(report, event.context) }
    }
  }
}
