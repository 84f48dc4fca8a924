import Foundation
import Query

/// What became of a job of the writing thread, for the one who asked for it.
final class JobOutcome: Sendable {
  private enum State {
    case running
    case awaited(CheckedContinuation<Void, any Error>)
    case ended(Result<Void, any Error>)
  }

  private let state = Locked(State.running)

  /// How long the end is waited for without suspending: most commits take less, and to suspend a task
  /// and to wake it takes longer than most commits.
  private static let patience = Duration.microseconds(60)

  /// Says that the job has ended. Called once.
  func set(_ result: Result<Void, any Error>) {
    let waiter = self.state.withLock { state -> CheckedContinuation<Void, any Error>? in
      defer { state = .ended(result) }
      if case .awaited(let waiter) = state { return waiter }
      return nil
    }
    waiter?.resume(with: result)
  }

  /// Returns when the job has ended. Called once.
  ///
  /// - Throws: What the job has thrown.
  func value() async throws {
    var result: Result<Void, any Error>?
    BusyWait.wait(for: Self.patience) {
      result = self.result
      return result != nil
    }
    if let result { return try result.get() }
    try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
      let result = self.state.withLock { state -> Result<Void, any Error>? in
        if case .ended(let result) = state { return result }
        state = .awaited(waiter)
        return nil
      }
      if let result { waiter.resume(with: result) }
    }
  }

  private var result: Result<Void, any Error>? {
    self.state.withLock { state in
      if case .ended(let result) = state { return result }
      return nil
    }
  }
}
