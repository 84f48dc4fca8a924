@testable import QuerySQLite

extension StepBudget {
  /// One that no clock ends.
  static func rows(_ count: Int) -> StepBudget { StepBudget(rows: count, time: .seconds(3_600)) }

  /// One whose time is over.
  static var spent: StepBudget { StepBudget(rows: .max, time: .zero) }
}
