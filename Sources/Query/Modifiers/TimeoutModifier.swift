public import FoundationEssentials

extension QueryRequest {
  /// Cancels an attempt that takes longer than it may; it fails with ``QueryTimeoutError`` then.
  ///
  /// Inside of `retry(limit:)`, nearer to the query, each attempt has the whole time; outside, all have
  /// it together. The attempt fails when its time is over, even if its code goes on although it was
  /// cancelled; what that yields later is dropped. The time goes by the continuous clock, and so goes on
  /// while the machine sleeps; in a test by a ``MockQueryClock``, if that is the context's clock.
  ///
  /// - Parameter duration: How long it may take. With none, nothing is fetched.
  /// - Precondition: `duration` is not negative.
  public func timeout(
    after duration: Duration
  ) -> ModifiedQuery<Self, _TimeoutModifier<Self>> {
    precondition(
      duration >= .zero,
      "\(self._debugTypeName): timeout(after:) takes a duration that is not negative; got \(duration)."
    )
    return self.modifier(_TimeoutModifier(duration: min(duration, .longest)))
  }

  /// Cancels an attempt that takes longer than it may. See ``timeout(after:)-(Duration)``.
  ///
  /// - Parameter seconds: How long it may take, in seconds.
  /// - Precondition: `seconds` is a number, and not negative.
  public func timeout(
    after seconds: TimeInterval
  ) -> ModifiedQuery<Self, _TimeoutModifier<Self>> {
    precondition(
      seconds >= 0,
      "\(self._debugTypeName): timeout(after:) takes a number of seconds that is not negative; got "
        + "\(seconds)."
    )
    return self.timeout(after: Duration(clampingSeconds: seconds))
  }
}

public struct _TimeoutModifier<Query: QueryRequest>: QueryModifier {
  let duration: Duration

  public func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    let error = QueryTimeoutError(duration: self.duration, query: query._debugTypeName)
    if self.duration == .zero { throw error }
    return try await TimedAttempt(error).run(query, in: context, with: continuation, on: #isolation)
  }
}

/// An attempt that ends with its work or with its time, whichever comes first.
private final class TimedAttempt<Value: Sendable>: Sendable {
  /// Guarded by the mutex.
  private struct Progress {
    var waiter: CheckedContinuation<Value, any Error>?
    var result: Result<Value, any Error>?
    /// How many values are being yielded: the attempt does not end before that is done.
    var yielding = 0
    /// Whether the time was over before the work.
    var isOverdue = false
  }

  private let progress = Locked(Progress())
  private let error: QueryTimeoutError

  init(_ error: QueryTimeoutError) { self.error = error }

  func run<Query: QueryRequest>(
    _ query: Query,
    in context: QueryContext,
    with continuation: QueryContinuation<Value>,
    on isolation: isolated (any Actor)?
  ) async throws -> Value where Query.Value == Value {
    // Not on this thread, which has to come back when the time is over.
    let work = TypedTaskRun<Value>.task(in: context, beginsHere: false, on: isolation) {
      // Named, so that the task has its isolation.
      _ = isolation
      do {
        let value = try await self.fetch(query, in: context, with: continuation, isolation)
        self.end(with: .success(value))
        return value
      } catch {
        self.end(with: .failure(error))
        throw error
      }
    }
    let timer = Task {
      try await context.sleep(self.error.duration)
      self.resume { progress in
        if progress.result != nil { return }
        progress.result = .failure(self.error)
        progress.isOverdue = true
      }
    }
    defer {
      timer.cancel()
      // The caller's time is over: it does not wait for cancellation handlers.
      if self.progress.withLock(\.isOverdue) { work.cancelElsewhere() }
    }
    return try await withTaskCancellationHandler {
      try await self.result(isolation: isolation)
    } onCancel: {
      work.cancel()
    }
  }

  /// Fetches as the current attempt of its fetch, of which nothing counts once the time is over.
  private func fetch<Query: QueryRequest>(
    _ query: Query,
    in context: QueryContext,
    with continuation: QueryContinuation<Value>,
    _ isolation: isolated (any Actor)?
  ) async throws -> Value where Query.Value == Value {
    let continuation = self.forwarding(to: continuation)
    guard let work = context.fetchWork else {
      return try await query.fetch(in: context, with: continuation)
    }
    return try await FetchAttempt.inner(of: work) { !self.progress.withLock(\.isOverdue) }
      .fetch(query, in: context, with: continuation, isolation: isolation)
  }

  private func result(isolation: isolated (any Actor)?) async throws -> Value {
    try await withCheckedThrowingContinuation { waiter in
      let known = self.progress.withLock { progress in
        if progress.result == nil || progress.yielding > 0 { progress.waiter = waiter }
        return progress.waiter == nil ? progress.result : nil
      }
      if let known { waiter.resume(with: known) }
    }
  }

  private func end(with result: Result<Value, any Error>) {
    self.resume { progress in
      if progress.result == nil { progress.result = result }
    }
  }

  /// A continuation that drops what comes after the end.
  private func forwarding(to continuation: QueryContinuation<Value>) -> QueryContinuation<Value> {
    let recorder = continuation.recorder?.whileOpen {
      self.progress.withLock { $0.result == nil }
    }
    return QueryContinuation(noting: recorder) { result, context in
      let isOpen = self.progress.withLock { progress in
        guard progress.result == nil else { return false }
        progress.yielding += 1
        return true
      }
      guard isOpen else { return }
      continuation.yield(with: result, using: context)
      self.resume { $0.yielding -= 1 }
    }
  }

  /// Changes the progress, and ends the wait if it is over with that.
  private func resume(after change: @Sendable (inout Progress) -> Void) {
    let ended = self.progress.withLock {
      progress -> (CheckedContinuation<Value, any Error>, Result<Value, any Error>)? in
      change(&progress)
      guard progress.yielding == 0, let result = progress.result, let waiter = progress.waiter
      else {
        return nil
      }
      progress.waiter = nil
      return (waiter, result)
    }
    if let (waiter, result) = ended { waiter.resume(with: result) }
  }
}
