import CSQLite
import Foundation

/// Waiting without sleeping, for what comes within microseconds: to be woken takes longer.
enum BusyWait {
  /// Returns when a condition holds, or the time is over.
  ///
  /// - Returns: Whether it holds.
  static func wait(
    for duration: Duration,
    until isDone: () -> Bool
  ) -> Bool {
    let end = SuspendingClock.now + duration
    var round = 0
    while !isDone() {
      if .now >= end { return false }
      round += 1
      // Now and then another thread may need this very processor to bring about what is waited for.
      if round % 16 == 0 { sched_yield() }
      for _ in 0..<16 { csqlite_pause() }
    }
    return true
  }
}
