import Query

/// The result of a writing thread's job, for the caller that waits for it.
final class JobOutcome<Value: Sendable>: Sendable {
  private struct State {
    /// What the job has returned, in a transaction that may yet be rolled back.
    var proposed: Value?
    var result: Result<Value, any Error>?
    var waiter: CheckedContinuation<Value, any Error>?
  }

  private let state = Locked(State())

  /// Notes what ``end(_:)`` makes the result. A later one takes its place.
  func propose(_ value: Value) { self.state.withLock { $0.proposed = value } }

  /// Ends the job with its error, or with what it has proposed. Called once.
  func end(_ error: (any Error)?) {
    if let error { return self.set(.failure(error)) }
    if let value = self.state.withLock({ $0.proposed }) { self.set(.success(value)) }
  }

  /// Ends the job. Called once.
  func set(_ result: Result<Value, any Error>) {
    let waiter = self.state.withLock { state in
      state.result = result
      return state.waiter.take()
    }
    waiter?.resume(with: result)
  }

  /// Returns when the job has ended. Called once.
  ///
  /// - Throws: The error of the job.
  func value() async throws -> Value {
    if let result = self.state.withLock({ $0.result }) { return try result.get() }
    return try await withCheckedThrowingContinuation { waiter in
      let result = self.state.withLock { state in
        if state.result == nil { state.waiter = waiter }
        return state.result
      }
      if let result { waiter.resume(with: result) }
    }
  }
}
