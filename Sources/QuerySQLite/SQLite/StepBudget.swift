/// Limits one transaction of long work, so that no other connection waits long for the write lock:
/// some rows or some milliseconds, whichever is reached first. The rest is done in later
/// transactions.
package struct StepBudget {
  /// How long one transaction works. Its commit takes some more time.
  static let time = Duration.milliseconds(15)

  /// The maximum number of rows.
  let rows: Int

  private let start: SuspendingClock.Instant
  private let time: Duration

  /// Begins a step.
  ///
  /// - Parameters:
  ///   - rows: The maximum number of rows, at least one.
  ///   - time: The maximum time. At least one row is done in any case.
  package init(rows: Int = 500, time: Duration = Self.time) {
    self.rows = max(rows, 1)
    (self.start, self.time) = (.now, time)
  }

  /// Whether the time is up. Read after each row.
  var isSpent: Bool { self.start.duration(to: .now) >= self.time }

  /// Whether half of the time is up, so that the rows found should be changed now.
  var isHalfSpent: Bool { self.start.duration(to: .now) >= self.time / 2 }

  /// Whether to stop after this number of rows.
  package func isSpent(after count: Int) -> Bool { count >= self.rows || count > 0 && self.isSpent }
}

extension StepBudget {
  /// A budget without a time limit: for few rows that the caller relies on being done.
  static func rows(_ count: Int) -> StepBudget { StepBudget(rows: count, time: .seconds(3_600)) }
}
