/// How much one transaction does of work that may be long, so that nobody waits long for the write lock:
/// some rows or some milliseconds, whichever ends first. The rest is done in transactions after it.
struct StepBudget {
  /// So long one transaction works. To commit that takes some time more.
  static let time = Duration.milliseconds(15)

  /// How many rows at most.
  let rows: Int

  private let middle: SuspendingClock.Instant
  private let end: SuspendingClock.Instant

  /// Begins a step.
  ///
  /// - Parameters:
  ///   - rows: How many rows at most, one at least.
  ///   - time: How long at most. Less than one row is never done.
  init(rows: Int = 500, time: Duration = Self.time) {
    self.rows = max(rows, 1)
    let now = SuspendingClock.now
    (self.middle, self.end) = (now + time / 2, now + time)
  }

  /// Whether the time is over. Asked after each row.
  var isSpent: Bool { SuspendingClock.now >= self.end }

  /// Whether half of the time is over, so that what was looked for is to be changed now.
  var isHalfSpent: Bool { SuspendingClock.now >= self.middle }

  /// Whether to stop after so many rows.
  func isSpent(after count: Int) -> Bool { count >= self.rows || count > 0 && self.isSpent }
}

extension StepBudget {
  /// One that no clock ends: for few rows, which others may rely on being done.
  static func rows(_ count: Int) -> StepBudget { StepBudget(rows: count, time: .seconds(3_600)) }

  /// Waits between two steps, so that others who wait for the write lock get it: they look for it every
  /// few milliseconds.
  static func letOthersWrite() { BusyHandler.sleep() }
}
