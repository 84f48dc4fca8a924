import CProbes
import FoundationEssentials
import Query

/// How long a connection has held the write lock, and when it must let others have it.
///
/// A waiting connection sleeps a few milliseconds at a time. One that has held the lock for long
/// and takes it again at once would mostly find it free, and the waiting ones would not.
struct WriteHolds {
  /// After a hold of at least this length other connections get their turn.
  static let long = Duration.milliseconds(10)

  /// The longest hold so far: of transactions, from `BEGIN` to the end of `COMMIT`, and of checkpoints.
  private(set) var longest = Duration.zero

  private var last: (end: SuspendingClock.Instant, length: Duration)?

  /// Records a hold that ends now.
  mutating func didHold(since start: SuspendingClock.Instant) {
    let end = SuspendingClock.now
    let length = end - start
    self.last = (end, length)
    if length > self.longest { self.longest = length }
    probe_write_hold(length.microseconds)
  }

  /// How long to wait before taking the lock again.
  func pause(_ now: SuspendingClock.Instant = .now) -> Duration {
    guard let last, last.length >= Self.long else { return .zero }
    return max(LockWait.longestSleep - (now - last.end), .zero)
  }
}
