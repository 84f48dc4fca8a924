@testable import cache_bench

/// Rows and outcomes of tests.
enum SampleRow {
  static func row(
    lean: Lean? = .program("a lean one"), unit: Unit = .nanoseconds, title: String = "a sample",
    goal: Goal = .timesFloor(2),
    measure: @escaping @Sendable () async throws -> Trial = { throw CheckFailure(description: "") }
  ) -> Row {
    Row(
      name: "sample", title: title, goal: goal, floor: "a floor", lean: lean, unit: unit,
      measure: measure)
  }

  /// The same in three rounds, but that the first has more.
  static func figures(_ value: Double, _ expense: Expense = Expense()) -> Outcome.Figures {
    Outcome.Figures(values: [value * 9, value, value], expenses: [expense * 9, expense, expense])
  }

  static let whole = Outcome(
    row: Self.row(),
    figures: Self.figures(
      3_000, Expense(processorTime: 2_000, bytesWritten: 8_240, frames: 2, syncs: 2)),
    floors: Self.figures(
      2_000, Expense(processorTime: 1_500, bytesWritten: 16_480, frames: 4, syncs: 2)),
    leans: Self.figures(
      1_000, Expense(processorTime: 500, bytesWritten: 4_120, frames: 1, syncs: 2)))

  static let failed = Outcome(
    row: Self.row(lean: .absent("nothing is written")), figures: .init(), floors: .init(),
    leans: .init(), failure: "no disk")
}
