import Query

/// The result of a writing thread's job, for the caller that waits for it.
// @unchecked: the value is written before the end, and read after it.
final class JobOutcome<Value: Sendable>: @unchecked Sendable {
  private let end = Locked(JobEnd())
  /// What the job has returned, in a transaction that may yet be rolled back.
  private var proposed: Value?

  /// Notes what ``end(_:)`` makes the result. A later one takes its place.
  func propose(_ value: Value) { self.proposed = value }

  /// Ends the job with its error, or with what it has proposed. Called once.
  func end(_ error: (any Error)?) {
    if error == nil, self.proposed == nil { return }
    let waiter = self.end.withLock { end in
      (end.isReached, end.error) = (true, error)
      return end.waiter.take()
    }
    if let error { waiter?.resume(throwing: error) } else { waiter?.resume() }
  }

  /// Ends the job. Called once.
  func set(_ result: Result<Value, any Error>) {
    switch result {
    case .success(let value):
      self.propose(value)
      self.end(nil)
    case .failure(let error): self.end(error)
    }
  }

  /// Returns when the job has ended. Called once.
  ///
  /// - Throws: The error of the job.
  func value() async throws -> Value {
    let (isReached, error) = self.end.withLock { ($0.isReached, $0.error) }
    if !isReached { try await self.wait() }
    // Without an error there is a value.
    guard error == nil, let value = self.proposed else { throw error ?? CancellationError() }
    return value
  }

  private func wait() async throws {
    try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
      let (isReached, error) = self.end.withLock { end in
        if !end.isReached { end.waiter = waiter }
        return (end.isReached, end.error)
      }
      guard isReached else { return }
      if let error { waiter.resume(throwing: error) } else { waiter.resume() }
    }
  }
}

/// Not inside the class, since a generic type would be looked up in the runtime at each use.
private struct JobEnd {
  var isReached = false
  var error: (any Error)?
  var waiter: CheckedContinuation<Void, any Error>?
}
