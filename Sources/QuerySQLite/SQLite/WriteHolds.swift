import Foundation

/// How long a connection has kept the write lock, and when it has to let others have it.
///
/// Who waits for the lock sleeps a few milliseconds at a time. A connection that has kept it for long and
/// takes it again at once would mostly find it free, and those who wait would not.
struct WriteHolds {
  /// After a hold of at least this length others get their turn.
  static let long = Duration.milliseconds(10)

  /// The longest hold so far: of transactions, from `BEGIN` to the end of `COMMIT`, and of checkpoints.
  private(set) var longest = Duration.zero

  private var last: (end: SuspendingClock.Instant, length: Duration)?

  /// Takes note of a hold that ends now.
  mutating func didHold(since start: SuspendingClock.Instant) {
    let end = SuspendingClock.now
    let length = end - start
    self.last = (end, length)
    if length > self.longest { self.longest = length }
  }

  /// How long to leave the lock alone before it is taken again.
  func pause(_ now: SuspendingClock.Instant = .now) -> Duration {
    guard let last, last.length >= Self.long else { return .zero }
    return max(BusyHandler.longestSleep - (now - last.end), .zero)
  }
}
