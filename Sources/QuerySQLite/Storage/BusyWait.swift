import Foundation

/// Waiting without sleeping, for what comes within microseconds: to be woken takes longer.
enum BusyWait {
  /// Returns when a condition holds, or the time is over. Other threads that want the processor get it.
  ///
  /// - Parameter isDone: Is asked often, so it takes no lock.
  /// - Returns: Whether it holds.
  @discardableResult
  static func wait(for duration: Duration, until isDone: () -> Bool) -> Bool {
    if isDone() { return true }
    let end = SuspendingClock.now + duration
    while .now < end {
      // To offer the processor takes some hundred times as long as to ask.
      for _ in 0..<50 where isDone() { return true }
      sched_yield()
    }
    return isDone()
  }
}
