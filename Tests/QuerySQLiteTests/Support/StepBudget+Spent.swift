@testable import QuerySQLite

extension StepBudget {
  /// One whose time is over.
  static var spent: StepBudget { StepBudget(rows: .max, time: .zero) }
}
