import Query
import TestSupport

/// The calls of requests that wait until a test says what they return, by their tasks. They ignore
/// that they are cancelled.
final class PendingCalls<Value: Sendable>: Sendable {
  private struct Call {
    let continuation: QueryContinuation<Value>
    let waiter: CheckedContinuation<Value, any Error>
  }

  /// Guarded by the mutex.
  private struct State {
    var calls = [QueryTaskIdentifier: Call]()
    var observers = [QueryTaskIdentifier: CheckedContinuation<Void, Never>]()
  }

  private let state = Locked(State())

  /// Waits in a request for what the test says.
  func wait(
    for context: QueryContext,
    _ continuation: QueryContinuation<Value>
  ) async throws -> Value {
    guard let id = context.queryRunningTaskIdentifier else { throw TestError("no task") }
    return try await withCheckedThrowingContinuation { waiter in
      let observer = self.state.withLock { state in
        state.calls[id] = Call(continuation: continuation, waiter: waiter)
        return state.observers.removeValue(forKey: id)
      }
      observer?.resume()
    }
  }

  /// Returns when a call of the task waits.
  func arrival(of id: QueryTaskIdentifier) async {
    await withCheckedContinuation { observer in
      let isThere = self.state.withLock { state in
        if state.calls[id] != nil { return true }
        state.observers[id] = observer
        return false
      }
      if isThere { observer.resume() }
    }
  }

  /// Yields from the call that waits.
  func yield(_ id: QueryTaskIdentifier, _ result: Result<Value, any Error>) {
    self.state.withLock { $0.calls[id] }?.continuation.yield(with: result)
  }

  /// Ends the call that waits.
  func resume(_ id: QueryTaskIdentifier, with result: Result<Value, TestError>) {
    let call = self.state.withLock { $0.calls.removeValue(forKey: id) }
    call?.waiter.resume(with: result.mapError { $0 as any Error })
  }
}
