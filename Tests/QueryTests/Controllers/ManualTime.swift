import Query
import TestSupport

@testable import Query

/// A time that a test moves, and the waits that hang on it.
final class ManualTime: Sendable {
  private typealias Sleeper = (
    id: Int, deadline: ContinuousClock.Instant, continuation: CheckedContinuation<Bool, Never>
  )

  private struct State {
    var now = ContinuousClock.now
    var lastID = 0
    var sleepers = [Sleeper]()
    /// Those that were cancelled before they slept.
    var cancelled = Set<Int>()
  }

  private let state = Locked(State())
  /// How many waits have begun, and how many have ended because their time came.
  let (sleeps, wakeups) = (Recorder<ContinuousClock.Instant>(), Counter())

  var now: ContinuousClock.Instant { self.state.withLock { $0.now } }

  /// How many wait.
  var sleeperCount: Int { self.state.withLock { $0.sleepers.count } }

  var schedule: TurnSchedule {
    TurnSchedule(
      time: TurnSchedule.Time(
        now: { self.now }, sleep: { try await self.sleep(until: $0) }))
  }

  func advance(by duration: Duration) {
    let due = self.state.withLock { state in
      state.now += duration
      let due = state.sleepers.filter { $0.deadline <= state.now }
      state.sleepers.removeAll { $0.deadline <= state.now }
      return due
    }
    for sleeper in due {
      self.wakeups.increment()
      sleeper.continuation.resume(returning: true)
    }
  }

  private func sleep(until deadline: ContinuousClock.Instant) async throws {
    let id = self.state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let hasSlept = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known = self.state.withLock { state -> Bool? in
          if state.cancelled.remove(id) != nil { return false }
          if deadline <= state.now { return true }
          state.sleepers.append((id, deadline, continuation))
          return nil
        }
        self.sleeps.append(deadline)
        if let known { continuation.resume(returning: known) }
      }
    } onCancel: {
      let sleeper = self.state.withLock { state in
        guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil as Sleeper?
        }
        return state.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(returning: false)
    }
    if !hasSlept { throw CancellationError() }
  }
}
