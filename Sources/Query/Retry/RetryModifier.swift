public import FoundationEssentials

extension QueryRequest {
  /// Retries this query when it fails, with the waits of the context's backoff function between. If the
  /// network returns meanwhile, as the context's observer tells, the next attempt is made at once.
  ///
  /// The errors of attempts that are followed by another one do not reach the store. A cancellation is not
  /// retried, nor is an ``HTTPStatusError`` whose status another attempt does not change: one below 500 other
  /// than 407, 408, 423, 425, 429 and 409 with a wait, and 501 and 505. Neither is an error that says what
  /// became of a mutation, such as ``MutationQueuedError`` and ``MutationEndedError``, since another attempt
  /// would save it again. If the server asks for a wait (``HTTPStatusError/retryAfter``), the next attempt
  /// waits for as long, up to 30 seconds; if it asks for more, the fetch fails. If a query has several retry
  /// modifiers, the one nearest to the request counts, with its limit; the context's
  /// ``QueryContext/maxRetries`` can be changed later.
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

  /// As ``retry(limit:)``, where the caller says which errors may pass.
  ///
  /// ```swift
  /// let query = PostQuery(id: 1).retry(limit: 3) { !($0 is DecodingError) }
  /// ```
  /// - Parameters:
  ///   - limit: How many times the query is retried, 0 or more.
  ///   - mayPass: Whether another attempt may help. It is not asked about cancellations, nor about a
  ///     ``MutationAppliedError``.
  /// - Precondition: `limit` is not negative.
  @inlinable
  public func retry(
    limit: Int, if mayPass: @escaping @Sendable (_ error: any Error) -> Bool
  ) -> ModifiedQuery<Self, _RetryModifier<Self>> {
    precondition(
      limit >= 0,
      "\(self._debugTypeName): retry(limit:) takes a number that is not negative; got \(limit)."
    )
    return self.modifier(_RetryModifier(limit: limit, mayPass: mayPass))
  }
}

public struct _RetryModifier<Query: QueryRequest>: QueryModifier {
  /// How many times the query is retried; nil: this layer is a client's default, which the context that the
  /// client's stores begin with has already, and which the outbox of durable mutations replaces.
  @usableFromInline let limit: Int?

  /// Whether another attempt may help; nil: the library decides.
  @usableFromInline let mayPass: (@Sendable (any Error) -> Bool)?

  /// - Parameters:
  ///   - limit: How many times the query is retried; nil: this layer is a client's default.
  ///   - mayPass: Whether another attempt may help; nil: the library decides.
  @inlinable
  init(limit: Int?, mayPass: (@Sendable (any Error) -> Bool)? = nil) {
    self.limit = limit
    self.mayPass = mayPass
  }

  @inlinable
  public func setup(context: inout QueryContext, using query: Query) {
    if let limit { context.addRetryLayer(limit: limit, isDefault: false) }
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
        context.fetchWork?.leaveAttempt()
        let delay = self.delay(after: index + 1, in: context, query)
        try await self.wait(delay, after: error, in: context)
      }
    }
    // The delay may have ignored a cancellation.
    try Task.checkCancellation()
    context.retryValues.index = limit
    context.fetchWork?.forgetOutcome(in: context)
    return try await query.fetch(in: context, with: continuation)
  }

  /// Whether another attempt may help. A durable mutation that did not reach its server waits in
  /// the outbox instead; one that is not durable has no key by which its server knows it again.
  @usableFromInline
  func isTriedAgain(_ error: any Error, in context: QueryContext) -> Bool {
    if error is QueryCircularFetchError || error is MutationAppliedError { return false }
    if Task.isCancelled || self.wait(askedBy: error) > Self.longestWait { return false }
    let verdict = FailureVerdict(of: error)
    if verdict.failure == .cancelled { return false }
    if context.mutationPlan != nil, verdict.failure == .connectivity { return false }
    if let mayPass { return mayPass(error) }
    if error is any FinalError { return false }
    // Writes are not deduplicated.
    let mayWriteTwice = self.limit == nil && !Query.State._isDeduplicatedByClients
    guard verdict.isKnown else { return !(mayWriteTwice && error is any AnsweredError) }
    // A server that answers 409 and asks for a wait is carrying it out.
    let isUnderWay = (error as? HTTPStatusError)?.statusCode == 409
    if mayWriteTwice, verdict.maybeApplied || isUnderWay { return false }
    switch verdict.failure {
    case .connectivity, .transient: return true
    case .authentication, .cancelled, .conflict, .permanent: return false
    }
  }

  /// Waits before the next attempt, for as long as the server has asked for at least. If it has not, the
  /// return of the network ends the wait.
  @usableFromInline
  func wait(_ delay: TimeInterval, after error: any Error, in context: QueryContext) async throws {
    let (asked, delayer) = (self.wait(askedBy: error), context.queryDelayer)
    guard asked == 0, delay > 0, let observer = context.networkObserver else {
      return try await delayer.delay(for: max(delay, asked))
    }
    let needed = context.satisfiedConnectionStatus
    let isAway = Locked(observer.currentStatus < needed)
    let (returns, continuation) = AsyncStream<Void>.makeStream()
    let subscription = observer.subscribe { status in
      let hasReturned = isAway.withLock { isAway in
        defer { isAway = status < needed }
        return isAway && status >= needed
      }
      if hasReturned { continuation.finish() }
    }
    defer { subscription.cancel() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await delayer.delay(for: delay) }
      group.addTask { for await _ in returns {} }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// The longest wait that a server may ask for, in seconds.
  private static var longestWait: TimeInterval { 30 }

  /// The seconds that the server asks to wait.
  @usableFromInline
  func wait(askedBy error: any Error) -> TimeInterval {
    (error as? HTTPStatusError)?.retryAfter.map { $0 / .seconds(1) } ?? 0
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
