/// Takes the results of a fetch that come before the final one.
///
/// A yield is synchronous: the store's state has changed when it returns. A yield after the
/// continuation's fetch has returned changes nothing and reports
/// ``QueryWarning/queryYieldedAfterReturning(_:)``.
public struct QueryContinuation<Value: Sendable>: Sendable {
  @usableFromInline
  let onQueryResult: @Sendable (Result<Value, any Error>, QueryContext?) -> Void

  /// Where it notes what it is told of a value; nil in a modifier's own continuation, which finds it by
  /// the task that it runs in.
  @usableFromInline
  let recorder: ValueRecorder?

  /// Creates a continuation.
  ///
  /// - Parameter onQueryResult: Takes each result, and the context that it was yielded with.
  @inlinable
  public init(
    onQueryResult: @escaping @Sendable (Result<Value, any Error>, QueryContext?) -> Void
  ) {
    self.init(noting: nil, onQueryResult: onQueryResult)
  }

  @inlinable
  init(
    noting recorder: ValueRecorder?,
    onQueryResult: @escaping @Sendable (Result<Value, any Error>, QueryContext?) -> Void
  ) {
    self.onQueryResult = onQueryResult
    self.recorder = recorder
  }

  /// Yields a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - context: The context of the events, or `nil` for the fetch's own.
  @inlinable
  public func yield(_ value: Value, using context: QueryContext? = nil) {
    self.yield(with: .success(value), using: context)
  }

  /// Yields an error.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - context: The context of the events, or `nil` for the fetch's own.
  @inlinable
  public func yield(error: any Error, using context: QueryContext? = nil) {
    self.yield(with: .failure(error), using: context)
  }

  /// Yields a value or an error.
  ///
  /// - Parameters:
  ///   - result: The value or the error.
  ///   - context: The context of the events, or `nil` for the fetch's own.
  @inlinable
  public func yield(with result: Result<Value, any Error>, using context: QueryContext? = nil) {
    self.onQueryResult(result, context)
  }
}
