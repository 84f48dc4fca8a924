/// When to retry what failed. The delay doubles with each failure, up to 30 s.
struct RetrySchedule {
  private static let longestDelay = Duration.seconds(30)

  private let firstDelay: Duration
  private var delay: Duration?

  /// When to retry; nil if nothing has failed since the last success.
  private(set) var due: SuspendingClock.Instant?

  init(firstDelay: Duration) { self.firstDelay = firstDelay }

  /// Whether something has failed, and nothing has succeeded since.
  var isPending: Bool { self.due != nil }

  mutating func didFail(_ now: SuspendingClock.Instant = .now) {
    // A caller that tries in between, as a flush does, does not postpone the next retry.
    if let due, due > now { return }
    let next = min(self.delay.map { $0 * 2 } ?? self.firstDelay, Self.longestDelay)
    (self.delay, self.due) = (next, now + next)
  }

  /// Schedules the first retry for now.
  mutating func retryAtOnce() { (self.delay, self.due) = (nil, .now) }

  mutating func didSucceed() { (self.delay, self.due) = (nil, nil) }
}
