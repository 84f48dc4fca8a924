import Foundation
import Query
import Synchronization

/// What became of a job of a writing thread, for the one who asked for it.
final class JobOutcome<Value: Sendable>: Sendable {
  private enum State {
    case running
    case awaited(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
  }

  private let state = Locked(State.running)

  /// Whether the state is ``State/ended(_:)``. Who waits without sleeping looks at this: with the lock it
  /// would be in the way of who ends it.
  private let hasEnded = Atomic(false)

  /// Says that the job has ended. Called once.
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
  /// - Parameter patience: How long to wait without suspending the task: to suspend it and to wake it
  ///   takes longer than a commit on a disk that is memory. None where others want the thread.
  /// - Throws: What the job has thrown.
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
