/// The callbacks of an infinite query's subscriber. Every closure is optional.
///
/// See ``QueryEventHandler`` for when and how they are called.
public struct InfiniteQueryEventHandler<PageID: Hashable & Sendable, PageValue: Sendable>:
  Sendable
{
  /// Called with the state after each change.
  public var onStateChanged:
    (@Sendable (InfiniteQueryState<PageID, PageValue>, QueryContext) -> Void)?

  /// Called when a fetch begins.
  public var onFetchingStarted: (@Sendable (QueryContext) -> Void)?

  /// Called when a page is about to be fetched.
  public var onPageFetchingStarted: (@Sendable (PageID, QueryContext) -> Void)?

  /// Called with each result of a page, final or not.
  public var onPageResultReceived:
    (
      @Sendable (
        PageID, Result<InfiniteQueryPage<PageID, PageValue>, any Error>, QueryContext
      ) -> Void
    )?

  /// Called with all pages of the store when a fetch succeeded, or with its error.
  public var onResultReceived:
    (@Sendable (Result<InfiniteQueryPages<PageID, PageValue>, any Error>, QueryContext) -> Void)?

  /// Called when a page was fetched.
  public var onPageFetchingEnded: (@Sendable (PageID, QueryContext) -> Void)?

  /// Called when a fetch is over, after its last other event.
  public var onFetchingEnded: (@Sendable (QueryContext) -> Void)?

  /// Creates a handler.
  ///
  /// - Parameters:
  ///   - onStateChanged: Called with the state after each change.
  ///   - onFetchingStarted: Called when a fetch begins.
  ///   - onPageFetchingStarted: Called when a page is about to be fetched.
  ///   - onPageResultReceived: Called with each result of a page, final or not.
  ///   - onResultReceived: Called with all pages when a fetch succeeded, or with its error.
  ///   - onPageFetchingEnded: Called when a page was fetched.
  ///   - onFetchingEnded: Called when a fetch is over.
  @inlinable
  public init(
    onStateChanged: (@Sendable (InfiniteQueryState<PageID, PageValue>, QueryContext) -> Void)? =
      nil,
    onFetchingStarted: (@Sendable (QueryContext) -> Void)? = nil,
    onPageFetchingStarted: (@Sendable (PageID, QueryContext) -> Void)? = nil,
    onPageResultReceived: (
      @Sendable (
        PageID, Result<InfiniteQueryPage<PageID, PageValue>, any Error>, QueryContext
      ) -> Void
    )? = nil,
    onResultReceived: (
      @Sendable (Result<InfiniteQueryPages<PageID, PageValue>, any Error>, QueryContext) -> Void
    )? = nil,
    onPageFetchingEnded: (@Sendable (PageID, QueryContext) -> Void)? = nil,
    onFetchingEnded: (@Sendable (QueryContext) -> Void)? = nil
  ) {
    self.onStateChanged = onStateChanged
    self.onFetchingStarted = onFetchingStarted
    self.onPageFetchingStarted = onPageFetchingStarted
    self.onPageResultReceived = onPageResultReceived
    self.onResultReceived = onResultReceived
    self.onPageFetchingEnded = onPageFetchingEnded
    self.onFetchingEnded = onFetchingEnded
  }
}

extension InfiniteQueryEventHandler {
  /// This handler for a store's mailbox, or `nil` if it handles no event.
  @inlinable
  func storeHandler<State: _InfiniteQueryStateProtocol<PageID, PageValue>>(
    for type: State.Type
  ) -> StoreHandler<State>? {
    var handler = StoreHandler<State>(
      onFetchingStarted: self.onFetchingStarted,
      onFetchingEnded: self.onFetchingEnded,
      onReported: self.onReported
    )
    if let onStateChanged = self.onStateChanged {
      handler.onStateChanged = { state, context in
        onStateChanged(state._infiniteState, context)
      }
    }
    if let onResultReceived = self.onResultReceived {
      handler.onResultReceived = { result, state, context in
        guard context.queryResultUpdateReason == .returnedFinalResult else { return }
        onResultReceived(result.map { _ in state.currentValue }, context)
      }
    }
    return handler.isEmpty ? nil : handler
  }

  @usableFromInline
  var onReported: (@Sendable (any Sendable, QueryContext) -> Void)? {
    guard
      self.onPageFetchingStarted != nil || self.onPageResultReceived != nil
        || self.onPageFetchingEnded != nil
    else { return nil }
    return { report, context in
      switch report as? InfiniteQueryPageEvent<PageID, PageValue> {
      case .started(let id)?: self.onPageFetchingStarted?(id, context)
      case .result(let id, let result)?: self.onPageResultReceived?(id, result, context)
      case .ended(let id)?: self.onPageFetchingEnded?(id, context)
      case nil: break
      }
    }
  }
}
