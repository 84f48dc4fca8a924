import FoundationEssentials
import Glibc

/// Waits without sleeping for something that comes within microseconds: waking a thread takes
/// longer.
enum BusyWait {
  /// Returns when a condition holds, or the time is over. Other threads that need the processor get
  /// it.
  ///
  /// - Parameter isDone: The condition. It is called often, so it must take no lock.
  /// - Returns: Whether it holds.
  @discardableResult
  static func wait(for duration: Duration, until isDone: () -> Bool) -> Bool {
    if isDone() { return true }
    let end = SuspendingClock.now + duration
    while .now < end {
      // `sched_yield` takes some hundred times as long as the condition.
      for _ in 0..<50 where isDone() { return true }
      sched_yield()
    }
    return isDone()
  }
}
