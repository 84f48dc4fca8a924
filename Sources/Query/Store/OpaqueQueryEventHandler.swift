/// The callbacks of an opaque store's subscriber. Every closure is optional.
///
/// See ``QueryEventHandler`` for when and how they are called.
public struct OpaqueQueryEventHandler: Sendable {
  /// Called with the state after each change.
  public var onStateChanged: (@Sendable (OpaqueQueryState, QueryContext) -> Void)?

  /// Called when the request of a fetch is about to be run.
  public var onFetchingStarted: (@Sendable (QueryContext) -> Void)?

  /// Called when a fetch is over, after its last other event.
  public var onFetchingEnded: (@Sendable (QueryContext) -> Void)?

  /// Called with each result of a fetch, final or not.
  public var onResultReceived: (@Sendable (Result<any Sendable, any Error>, QueryContext) -> Void)?

  /// Creates a handler.
  ///
  /// - Parameters:
  ///   - onStateChanged: Called with the state after each change.
  ///   - onFetchingStarted: Called when the request of a fetch is about to be run.
  ///   - onFetchingEnded: Called when a fetch is over.
  ///   - onResultReceived: Called with each result of a fetch.
  public init(
    onStateChanged: (@Sendable (OpaqueQueryState, QueryContext) -> Void)? = nil,
    onFetchingStarted: (@Sendable (QueryContext) -> Void)? = nil,
    onFetchingEnded: (@Sendable (QueryContext) -> Void)? = nil,
    onResultReceived: (@Sendable (Result<any Sendable, any Error>, QueryContext) -> Void)? = nil
  ) {
    self.onStateChanged = onStateChanged
    self.onFetchingStarted = onFetchingStarted
    self.onFetchingEnded = onFetchingEnded
    self.onResultReceived = onResultReceived
  }

  /// This handler for a store of the given state.
  func handler<State: QueryStateProtocol>(for type: State.Type) -> QueryEventHandler<State> {
    var handler = QueryEventHandler<State>(
      onFetchingStarted: self.onFetchingStarted,
      onFetchingEnded: self.onFetchingEnded
    )
    if let onStateChanged = self.onStateChanged {
      handler.onStateChanged = { state, context in
        onStateChanged(OpaqueQueryState(state), context)
      }
    }
    if let onResultReceived = self.onResultReceived {
      handler.onResultReceived = { result, context in
        onResultReceived(result.map { $0 }, context)
      }
    }
    return handler
  }
}
