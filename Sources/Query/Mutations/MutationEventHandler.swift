/// The callbacks of a mutation's subscriber. Every closure is optional.
///
/// See ``QueryEventHandler`` for when and how they are called.
public struct MutationEventHandler<Arguments: Sendable, Value: Sendable>: Sendable {
  /// Called with the state after each change.
  public var onStateChanged: (@Sendable (MutationState<Arguments, Value>, QueryContext) -> Void)?

  /// Called when an attempt begins.
  public var onMutatingStarted: (@Sendable (Arguments, QueryContext) -> Void)?

  /// Called with each result of an attempt, final or not.
  public var onMutationResultReceived:
    (@Sendable (Arguments, Result<Value, any Error>, QueryContext) -> Void)?

  /// Called when an attempt is over, after its last other event.
  public var onMutatingEnded: (@Sendable (Arguments, QueryContext) -> Void)?

  /// Creates a handler.
  ///
  /// - Parameters:
  ///   - onStateChanged: Called with the state after each change.
  ///   - onMutatingStarted: Called when an attempt begins.
  ///   - onMutationResultReceived: Called with each result of an attempt, final or not.
  ///   - onMutatingEnded: Called when an attempt is over.
  @inlinable
  public init(
    onStateChanged: (@Sendable (MutationState<Arguments, Value>, QueryContext) -> Void)? = nil,
    onMutatingStarted: (@Sendable (Arguments, QueryContext) -> Void)? = nil,
    onMutationResultReceived: (
      @Sendable (Arguments, Result<Value, any Error>, QueryContext) -> Void
    )? = nil,
    onMutatingEnded: (@Sendable (Arguments, QueryContext) -> Void)? = nil
  ) {
    self.onStateChanged = onStateChanged
    self.onMutatingStarted = onMutatingStarted
    self.onMutationResultReceived = onMutationResultReceived
    self.onMutatingEnded = onMutatingEnded
  }
}

extension MutationEventHandler {
  /// This handler for a store's mailbox, or `nil` if it handles no event.
  @inlinable
  func storeHandler<State: _MutationStateProtocol<Arguments, Value>>(
    for type: State.Type
  ) -> StoreHandler<State>? {
    var handler = StoreHandler<State>(
      onFetchingStarted: self.onMutatingStarted.map(Self.withArguments),
      onFetchingEnded: self.onMutatingEnded.map(Self.withArguments)
    )
    if let onStateChanged = self.onStateChanged {
      handler.onStateChanged = { state, context in
        onStateChanged(state._mutationState, context)
      }
    }
    if let onMutationResultReceived = self.onMutationResultReceived {
      handler.onResultReceived = { result, _, context in
        guard let arguments = Self.arguments(in: context) else { return }
        onMutationResultReceived(arguments, result.map(\.returnValue), context)
      }
    }
    return handler.isEmpty ? nil : handler
  }

  /// Calls a closure with the arguments of the attempt; a fetch without any is no attempt.
  @usableFromInline
  static func withArguments(
    _ closure: @escaping @Sendable (Arguments, QueryContext) -> Void
  ) -> @Sendable (QueryContext) -> Void {
    { context in
      if let arguments = Self.arguments(in: context) { closure(arguments, context) }
    }
  }

  @usableFromInline
  static func arguments(in context: QueryContext) -> Arguments? {
    context[QueryContext.MutationArgumentsKey<Arguments>.self]
  }
}
