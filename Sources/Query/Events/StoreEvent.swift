/// One event of a store, as its handlers will see it, whenever they reach it.
@usableFromInline
final class StoreEvent<State: QueryStateProtocol>: Sendable {
  @usableFromInline
  enum Kind: Sendable {
    case stateChanged
    case fetchingStarted
    case fetchingEnded
    case resultReceived
    /// Reported by a request itself, such as the start of a page.
    case reported
  }

  // Plain constants rather than payloads: a handler borrows the values it is called with, while a
  // payload would be copied for each handler.
  @usableFromInline let kind: Kind
  /// The state after the change that this event is about.
  @usableFromInline let state: State
  @usableFromInline let context: QueryContext
  @usableFromInline let result: Result<State.QueryValue, any Error>?
  @usableFromInline let report: (any Sendable)?

  @inlinable
  init(
    _ kind: Kind,
    state: State,
    context: QueryContext,
    result: Result<State.QueryValue, any Error>? = nil,
    report: (any Sendable)? = nil
  ) {
    self.kind = kind
    self.state = state
    self.context = context
    self.result = result
    self.report = report
  }

  /// The same event, with another state.
  func with(_ state: State) -> StoreEvent {
    StoreEvent(
      self.kind, state: state, context: self.context, result: self.result, report: self.report)
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

  @inlinable
  var isEmpty: Bool {
    self.onStateChanged == nil && self.onFetchingStarted == nil && self.onFetchingEnded == nil
      && self.onResultReceived == nil && self.onReported == nil
  }

  @inlinable
  func handle(_ event: StoreEvent<State>) {
    switch event.kind {
    case .stateChanged: self.onStateChanged?(event.state, event.context)
    case .fetchingStarted: self.onFetchingStarted?(event.context)
    case .fetchingEnded: self.onFetchingEnded?(event.context)
    case .resultReceived:
      if let result = event.result { self.onResultReceived?(result, event.state, event.context) }
    case .reported:
      if let report = event.report { self.onReported?(report, event.context) }
    }
  }
}
