/// What became of one row.
struct Outcome: Sendable {
  let row: Row
  let figures: [Double]
  let floors: [Double]
  /// What one operation used, and one of the floor, in each round; empty if the row does not count
  /// time.
  let expenses: [Expense]
  let floorExpenses: [Expense]
  /// Why the row could not be measured.
  let failure: String?

  /// Measures a row.
  init(measuring row: Row, _ scale: Scale) async {
    self.row = row
    var figures = [MeasuredRound]()
    var floors = [MeasuredRound]()
    var failure: String?
    do {
      let trial = try await row.measure()
      // What is measured once takes long, and counts what a warm-up does not change.
      let warmUps = trial.mostRounds == 1 ? 0 : max(trial.mostRounds / 5, 1)
      for _ in 0..<min(scale.warmUps, warmUps) {
        _ = try await trial.figure()
        _ = try await trial.floor()
      }
      for _ in 0..<min(scale.rounds, trial.mostRounds) {
        figures.append(try await MeasuredRound(trial.figure, row.unit))
        floors.append(try await MeasuredRound(trial.floor, row.unit))
      }
      try await trial.end()
    } catch {
      failure = "\(error)"
    }
    self.figures = figures.map(\.figure)
    self.floors = floors.map(\.figure)
    self.expenses = figures.compactMap(\.expense)
    self.floorExpenses = floors.compactMap(\.expense)
    self.failure = failure
  }

  var figure: Double { Self.median(self.figures) }
  var floor: Double { Self.median(self.floors) }
  var ratio: Double { self.figure / self.floor }

  var isMet: Bool {
    self.failure == nil && self.row.goal.isMet(figure: self.figure, floor: self.floor)
  }

  /// Nanoseconds of processor time for one operation; nil if the row does not count time.
  var processorTime: Double? { Self.median(of: self.expenses, \.processor) }
  var floorProcessorTime: Double? { Self.median(of: self.floorExpenses, \.processor) }
  /// Bytes written for one operation; nil if the row does not count time.
  var bytesWritten: Double? { Self.median(of: self.expenses, \.written) }
  var floorBytesWritten: Double? { Self.median(of: self.floorExpenses, \.written) }

  private static func median(of expenses: [Expense], _ part: (Expense) -> Double) -> Double? {
    expenses.isEmpty ? nil : self.median(expenses.map(part))
  }

  private static func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
