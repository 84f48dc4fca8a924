import Foundation
import Query
import TestSupport

@testable import QueryReplay

/// The clock of a replayer and of its outbox, which stands still until the test moves it.
final class ManualClock: Sendable {
  private struct Sleeper {
    let id: Int
    let time: Duration
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct Guarded {
    var now = Duration.zero
    var last = 0
    var sleepers = [Sleeper]()
  }

  private let guarded = Locked(Guarded())

  /// Until when each sleeper so far wanted to sleep, in the order of falling asleep.
  let sleeps = Recorder<Duration>()

  var now: Duration { self.guarded.withLock { $0.now } }

  /// Moves the clock, and wakes the waiters whose time has come.
  func advance(by duration: Duration) {
    let due = self.guarded.withLock { clock in
      clock.now += duration
      let now = clock.now
      let due = clock.sleepers.filter { $0.time <= now }
      clock.sleepers.removeAll { $0.time <= now }
      return due
    }
    for sleeper in due { sleeper.continuation.resume(returning: true) }
  }

  /// Returns when somebody has fallen asleep until this time.
  func sleeper(until time: Duration) async { await self.sleeps.wait { $0.contains(time) } }

  var replayClock: ReplayClock {
    ReplayClock(now: { self.now }, sleep: { try await self.sleep(until: $0) })
  }

  var outboxClock: OutboxClock {
    OutboxClock {
      let microseconds = Int(self.now / .microseconds(1))
      return OutboxTime(
        wall: Date(timeIntervalSince1970: 1_234_567_890 + self.now / .seconds(1)),
        boottime: microseconds, monotonic: microseconds, bootID: "boot", isSynchronised: true)
    }
  }

  private func sleep(until time: Duration) async throws {
    let id = self.guarded.withLock { clock in
      clock.last += 1
      return clock.last
    }
    let hasSlept = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known = self.guarded.withLock { clock -> Bool? in
          if Task.isCancelled { return false }
          if time <= clock.now { return true }
          clock.sleepers.append(Sleeper(id: id, time: time, continuation: continuation))
          return nil
        }
        self.sleeps.append(time)
        if let known { continuation.resume(returning: known) }
      }
    } onCancel: {
      self.guarded.withLock { clock in
        clock.sleepers.firstIndex { $0.id == id }.map { clock.sleepers.remove(at: $0) }
      }?.continuation.resume(returning: false)
    }
    if !hasSlept { throw CancellationError() }
  }
}
