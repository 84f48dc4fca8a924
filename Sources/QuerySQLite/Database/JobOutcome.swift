import Foundation
import Query
import Synchronization

/// The result of a writing thread's job, for the caller that waits for it.
final class JobOutcome<Value: Sendable>: Sendable {
  private enum State {
    case running
    case awaited(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
  }

  private let state = Locked(State.running)

  /// Whether the state is ``State/ended(_:)``. A caller that waits without sleeping reads this: by
  /// taking the lock it would block the thread that ends the job.
  private let hasEnded = Atomic(false)

  /// Ends the job. Called once.
  func set(_ result: Result<Value, any Error>) {
    let waiter = self.state.withLock { state -> CheckedContinuation<Value, any Error>? in
      defer { state = .ended(result) }
      if case .awaited(let waiter) = state { return waiter }
      return nil
    }
    self.hasEnded.store(true, ordering: .releasing)
    waiter?.resume(with: result)
  }

  /// Returns when the job has ended. Called once.
  ///
  /// - patience: How long to wait without suspending the task: suspending and waking it takes
  ///   longer than a commit to a disk in memory. Zero if other tasks need the thread.
  /// - Throws: The error of the job.
  func value(patience: Duration) async throws -> Value {
    BusyWait.wait(for: patience) { self.hasEnded.load(ordering: .acquiring) }
    if let result = self.result { return try result.get() }
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
