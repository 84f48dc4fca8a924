/// The callbacks of a store's subscriber. Every closure is optional.
///
/// No lock is held while one runs, so it may use the store, and other stores, in any way. The
/// events of one store reach each handler one at a time, in the order in which they happened.
public struct QueryEventHandler<State: QueryStateProtocol>: Sendable {
  /// Called with the state after each change.
  public var onStateChanged: (@Sendable (State, QueryContext) -> Void)?

  /// Called when the request of a fetch is about to be run.
  public var onFetchingStarted: (@Sendable (QueryContext) -> Void)?

  /// Called when a fetch is over, after its last other event.
  public var onFetchingEnded: (@Sendable (QueryContext) -> Void)?

  /// Called with each result of a fetch, before the change of the state that it leads to. The
  /// context's ``QueryContext/queryResultUpdateReason`` says whether it is the final one.
  public var onResultReceived:
    (@Sendable (Result<State.QueryValue, any Error>, QueryContext) -> Void)?

  /// Creates a handler.
  ///
  /// - Parameters:
  ///   - onStateChanged: Called with the state after each change.
  ///   - onFetchingStarted: Called when the request of a fetch is about to be run.
  ///   - onFetchingEnded: Called when a fetch is over.
  ///   - onResultReceived: Called with each result of a fetch.
  @inlinable
  public init(
    onStateChanged: (@Sendable (State, QueryContext) -> Void)? = nil,
    onFetchingStarted: (@Sendable (QueryContext) -> Void)? = nil,
    onFetchingEnded: (@Sendable (QueryContext) -> Void)? = nil,
    onResultReceived: (@Sendable (Result<State.QueryValue, any Error>, QueryContext) -> Void)? =
      nil
  ) {
    self.onStateChanged = onStateChanged
    self.onFetchingStarted = onFetchingStarted
    self.onFetchingEnded = onFetchingEnded
    self.onResultReceived = onResultReceived
  }
}

extension QueryEventHandler {
  /// This handler for a store's mailbox, or `nil` if it handles no event.
  @inlinable
  var storeHandler: StoreHandler<State>? {
    var handler = StoreHandler<State>(
      onStateChanged: self.onStateChanged,
      onFetchingStarted: self.onFetchingStarted,
      onFetchingEnded: self.onFetchingEnded
    )
    if let onResultReceived = self.onResultReceived {
      handler.onResultReceived = { result, _, context in onResultReceived(result, context) }
    }
    return handler.isEmpty ? nil : handler
  }
}
