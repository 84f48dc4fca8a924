import Foundation

/// Waiting without sleeping, for what comes within microseconds: to be woken takes longer.
enum BusyWait {
  /// Returns when a condition holds, or the time is over. Other threads that want the processor get it.
  ///
  /// - Returns: Whether it holds.
  @discardableResult
  static func wait(for duration: Duration, until isDone: () -> Bool) -> Bool {
    let end = SuspendingClock.now + duration
    while !isDone() {
      if .now >= end { return false }
      sched_yield()
    }
    return true
  }
}
