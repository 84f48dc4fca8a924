public import FoundationEssentials

extension QueryRequest {
  /// Retries this query when it fails, with the waits of the context's backoff function between.
  ///
  /// The errors of attempts that are followed by another one do not reach the store. A cancellation
  /// is never retried. If a query has several retry modifiers, the one nearest to the request
  /// counts, with its limit; the context's ``QueryContext/maxRetries`` can be changed later.
  ///
  /// - Parameter limit: How many times the query is retried, 0 or more.
  /// - Precondition: `limit` is not negative.
  @inlinable
  public func retry(limit: Int) -> ModifiedQuery<Self, _RetryModifier<Self>> {
    precondition(
      limit >= 0,
      "\(self._debugTypeName): retry(limit:) takes a number that is not negative; got \(limit)."
    )
    return self.modifier(_RetryModifier(limit: limit))
  }
}

public struct _RetryModifier<Query: QueryRequest>: QueryModifier {
  @usableFromInline let limit: Int

  @usableFromInline let isDefault: Bool

  /// - Parameters:
  ///   - limit: How many times the query is retried.
  ///   - isDefault: Whether it is a client's default, which the outbox of durable mutations
  ///     replaces.
  @inlinable
  init(limit: Int, isDefault: Bool = false) {
    self.limit = limit
    self.isDefault = isDefault
  }

  @inlinable
  public func setup(context: inout QueryContext, using query: Query) {
    context.retryValues.limit = self.limit
    context.retryValues.isDefault = self.isDefault
    context.retryValues.layerCount += 1
    query.setup(context: &context)
  }

  @inlinable
  public func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    let values = context.retryValues
    // A layer inside this one retries, or one around it does.
    let isInnermost = values.passedLayers + 1 >= values.layerCount
    guard isInnermost, !values.isRetrying, values.limit > 0, !self.isReplacedByOutbox(context)
    else {
      var context = context
      if !isInnermost { context.retryValues.passedLayers += 1 }
      return try await query.fetch(in: context, with: continuation)
    }
    return try await self.fetchRetrying(in: context, using: query, with: continuation)
  }

  @inlinable
  func fetchRetrying(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    var context = context
    context.retryValues.isRetrying = true
    let limit = context.retryValues.limit
    for index in 0..<limit {
      try Task.checkCancellation()
      context.retryValues.index = index
      if index > 0 { context.fetchWork?.forgetOutcome(in: context) }
      do {
        return try await query.fetch(in: context, with: continuation)
      } catch  where self.isTriedAgain(error, in: context) {
        try await context.queryDelayer.delay(for: self.delay(after: index + 1, in: context, query))
      }
    }
    // The delay may have ignored a cancellation.
    try Task.checkCancellation()
    context.retryValues.index = limit
    context.fetchWork?.forgetOutcome(in: context)
    return try await query.fetch(in: context, with: continuation)
  }

  /// Whether another attempt may help. A durable mutation that did not reach its server waits in
  /// the outbox instead.
  @usableFromInline
  func isTriedAgain(_ error: any Error, in context: QueryContext) -> Bool {
    if error is CancellationError || error is QueryCircularFetchError { return false }
    if Task.isCancelled { return false }
    return context.mutationPlan == nil || FailureVerdict(of: error).failure != .connectivity
  }

  /// Whether the outbox of durable mutations retries instead of this modifier.
  @usableFromInline
  func isReplacedByOutbox(_ context: QueryContext) -> Bool {
    context.retryValues.isDefault && context.mutationPlan != nil
  }

  /// The seconds to wait after so many failed attempts.
  @usableFromInline
  func delay(after attempt: Int, in context: QueryContext, _ query: Query) -> TimeInterval {
    let seconds = context.queryBackoffFunction(attempt)
    guard seconds >= 0, seconds.isFinite else {
      QueryWarning.invalidDelay(query: query._debugTypeName, seconds: seconds).report()
      return 0
    }
    return seconds
  }
}
