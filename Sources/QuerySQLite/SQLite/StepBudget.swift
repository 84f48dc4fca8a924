/// Limits one transaction of long work, so that no other connection waits long for the write lock:
/// some rows or some milliseconds, whichever is reached first. The rest is done in later
/// transactions.
package struct StepBudget {
  /// How long one transaction works that nobody waits for. Its commit takes some more time, and so does
  /// the checkpoint that copies its pages, of which it may change 200 in a millisecond.
  static let time = Duration.milliseconds(5)

  /// How long one transaction works on what callers have changed: seldom more than one page for each
  /// change, and they wait for all of it.
  package static let callersTime = Duration.milliseconds(15)

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

extension SQLiteConnection {
  /// Begins a step of a transaction that nobody waits for, which on a slow disk is shorter.
  ///
  /// - Parameter rows: The maximum number of rows on a quick disk.
  package func stepBudget(rows: Int) -> StepBudget {
    StepBudget(rows: self.share(of: rows), time: StepBudget.time * self.stepShare)
  }

  /// How many of so many rows a step changes on this disk, at least one.
  func share(of rows: Int) -> Int {
    max(1, Int(Double(min(rows, 1 << 40)) * self.stepShare))
  }
}

extension StepBudget {
  /// A budget without a time limit: for few rows that the caller relies on being done.
  static func rows(_ count: Int) -> StepBudget { StepBudget(rows: count, time: .seconds(3_600)) }
}
