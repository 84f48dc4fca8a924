import Foundation
import Query
import TestSupport

@testable import QueryReplay

/// The clock of a replayer and of its outbox, which stands still until the test moves it.
final class ManualClock: Sendable {
  private let clock = MockQueryClock(startingAt: Date(timeIntervalSince1970: 1_234_567_890))

  /// Until when each sleeper so far wanted to sleep, in the order of falling asleep.
  let sleeps = Recorder<Duration>()

  var now: Duration { self.clock.elapsed }

  /// Moves the clock, and wakes the waiters whose time has come.
  func advance(by duration: Duration) { self.clock.advance(by: duration) }

  /// Returns when somebody has fallen asleep until this time.
  func sleeper(until time: Duration) async { await self.sleeps.wait { $0.contains(time) } }

  var replayClock: ReplayClock {
    ReplayClock(now: { self.now }, sleep: { try await self.sleep(until: $0) })
  }

  var outboxClock: OutboxClock {
    OutboxClock {
      let microseconds = Int(self.now / .microseconds(1))
      return OutboxTime(
        wall: self.clock.now(),
        boottime: microseconds, monotonic: microseconds, bootID: "boot", isSynchronised: true)
    }
  }

  private func sleep(until time: Duration) async throws {
    // One that is noted before it sleeps is woken all the same: it looks at the time first.
    self.sleeps.append(time)
    try await self.clock.sleep(until: time)
  }
}
