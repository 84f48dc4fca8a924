extension QueryRequest {
  /// Lets each fetch of this query wait until a condition is satisfied. The store is loading
  /// meanwhile.
  ///
  /// - Parameter condition: The condition.
  public func suspend<Condition: FetchCondition>(
    on condition: Condition
  ) -> ModifiedQuery<Self, _SuspendModifier<Self, Condition>> {
    self.modifier(_SuspendModifier(condition: condition))
  }
}

public struct _SuspendModifier<Query: QueryRequest, Condition: FetchCondition>: QueryModifier {
  let condition: Condition

  public func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    if !self.condition.isSatisfied(in: context) {
      try await self.waitUntilSatisfied(in: context)
      context.fetchWork?.didWait(in: context)
    }
    return try await query.fetch(in: context, with: continuation)
  }

  private func waitUntilSatisfied(in context: QueryContext) async throws {
    let suspension = Suspension()
    let subscription = self.condition.subscribe(in: context) { if $0 { suspension.end() } }
    defer { subscription.cancel() }
    // It may have become satisfied between the first question and the subscription.
    if self.condition.isSatisfied(in: context) { suspension.end() }
    try await suspension.wait()
  }
}

/// A wait that ends once, however often and however early it is ended.
private final class Suspension: Sendable {
  private enum State {
    case idle
    case waiting(CheckedContinuation<Void, any Error>)
    case ended(Result<Void, any Error>)
  }

  private let state = Locked(State.idle)

  func end(with result: Result<Void, any Error> = .success(())) {
    let continuation = self.state.withLock { state -> CheckedContinuation<Void, any Error>? in
      switch state {
      case .idle:
        state = .ended(result)
        return nil
      case .waiting(let continuation):
        state = .ended(result)
        return continuation
      case .ended:
        return nil
      }
    }
    continuation?.resume(with: result)
  }

  func wait() async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let known = self.state.withLock { state -> Result<Void, any Error>? in
          if case .ended(let result) = state { return result }
          state = .waiting(continuation)
          return nil
        }
        if let known { continuation.resume(with: known) }
      }
    } onCancel: {
      self.end(with: .failure(CancellationError()))
    }
  }
}
