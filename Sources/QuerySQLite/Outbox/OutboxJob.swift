import Foundation
import Query

/// Something that one caller wants written, in a transaction that may have others' jobs in it too.
struct OutboxJob: Sendable {
  let partition: OutboxPartition

  /// Whether it may lease a row, so that this process needs its lock file.
  let needsOwner: Bool

  /// Changes the tables. Called again where the transaction was undone by another one's failure.
  let body: @Sendable (inout OutboxTransaction) throws -> Void

  /// Is told when it is committed, or that it failed.
  let completion: @Sendable ((any Error)?) -> Void
}

/// What became of a job, for the one who waits for it.
final class OutboxOutcome<Value: Sendable>: Sendable {
  private enum State {
    case running
    case awaited(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
  }

  private let state = Locked(State.running)

  /// Says that the job has ended. Called once.
  func set(_ result: Result<Value, any Error>) {
    let waiter = self.state.withLock { state -> CheckedContinuation<Value, any Error>? in
      defer { state = .ended(result) }
      if case .awaited(let waiter) = state { return waiter }
      return nil
    }
    waiter?.resume(with: result)
  }

  /// Returns when the job has ended. Called once.
  ///
  /// - Parameter patience: How long to wait without suspending the task: to suspend it and to wake it
  ///   takes longer than a commit on a disk that is memory. None where others want the thread.
  /// - Throws: What the job has thrown.
  func value(patience: Duration) async throws -> Value {
    var result: Result<Value, any Error>?
    BusyWait.wait(for: patience) {
      result = self.result
      return result != nil
    }
    if let result { return try result.get() }
    return try await withCheckedThrowingContinuation { waiter in
      let result = self.state.withLock { state -> Result<Value, any Error>? in
        if case .ended(let result) = state { return result }
        state = .awaited(waiter)
        return nil
      }
      if let result { waiter.resume(with: result) }
    }
  }

  private var result: Result<Value, any Error>? {
    self.state.withLock { state in
      if case .ended(let result) = state { return result }
      return nil
    }
  }
}
