import FoundationEssentials
import Glibc
import Query

/// How a thread sleeps while another connection or process holds a lock: for short, random times, so
/// that two that collided once do not collide again.
package enum LockWait {
  /// The longest single sleep of a wait.
  static let longestSleep = Duration.milliseconds(5)

  /// How long the lock is left free if no other process of this library can be waiting for it: a program
  /// of another kind, such as the `sqlite3` shell, shows nobody that it is.
  /// It may not run at once on a busy machine.
  static let strangersTurn = Duration.milliseconds(2)

  /// Sleeps a random time that grows with the round, at most 5 ms.
  package static func sleep(round: Int32) {
    usleep(UInt32.random(in: 50...min(5_000, 200 << UInt32(min(round, 5)))))
  }

  /// Sleeps, by default long enough for every waiter to try the lock once.
  static func sleep(for duration: Duration = Self.longestSleep) {
    if duration > .zero { usleep(UInt32(clamping: duration.microseconds)) }
  }
}
