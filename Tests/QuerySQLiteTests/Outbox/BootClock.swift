import Foundation
import Query

/// A clock that stands still until a test moves it, and its boot.
final class BootClock: Sendable {
  private let time: Locked<OutboxTime>

  init(wall: Double = 1_700_000_000, boottime: Int = 1_000_000_000, bootID: String = "boot-a") {
    self.time = Locked(
      OutboxTime(
        wall: Date(timeIntervalSince1970: wall), boottime: boottime, monotonic: boottime,
        bootID: bootID, isSynchronised: true))
  }

  var clock: OutboxClock { OutboxClock { [time] in time.withLock { $0 } } }

  func edit(_ body: (inout OutboxTime) -> Void) { self.time.withLock { body(&$0) } }

  /// Moves all clocks.
  func advance(seconds: Int) {
    self.edit { time in
      time.wall += Double(seconds)
      time.boottime += seconds * 1_000_000
      time.monotonic += seconds * 1_000_000
    }
  }
}
