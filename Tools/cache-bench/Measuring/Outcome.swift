/// What became of one row.
struct Outcome: Sendable {
  let row: Row
  private(set) var figures: Figures
  private(set) var floors: Figures
  /// Of the lean program; empty if there is none.
  private(set) var leans: Figures
  /// nil if the row's goal has no time, or the row could not be measured.
  private(set) var speed: MachineSpeed?
  /// Why the row could not be measured.
  private(set) var failure: String?

  /// What the rounds of one kind took and used.
  struct Figures: Sendable {
    var values = [Double]()
    /// Empty if the row does not count it.
    var expenses = [Expense]()

    var median: Double { .median(of: self.values) }
    /// nil if the row does not count it.
    var expense: Expense? { .median(of: self.expenses) }
  }

  init(
    row: Row, figures: Figures, floors: Figures, leans: Figures, speed: MachineSpeed? = nil,
    failure: String? = nil
  ) {
    (self.row, self.speed, self.failure) = (row, speed, failure)
    (self.figures, self.floors, self.leans) = (figures, floors, leans)
  }

  /// A lean program decides nothing: so many rounds of it are enough.
  private static let mostLeanRounds = 21

  /// Measures a row.
  init(measuring row: Row, _ scale: Scale) async {
    self.init(row: row, figures: Figures(), floors: Figures(), leans: Figures())
    do {
      if row.hasTimeGoal {
        self.speed = try await MachineSpeed.during(scale) { try await self.measure(scale) }
      } else {
        try await self.measure(scale)
      }
    } catch {
      self.failure = "\(error)"
    }
  }

  private mutating func measure(_ scale: Scale) async throws {
    let trial = try await self.row.measure()
    let hasLean = self.row.lean?.program != nil
    try expect(trial.lean != nil, hasLean, "whether there is a lean program")
    // What is measured once takes long, and counts what a warm-up does not change.
    let warmUps = trial.mostRounds == 1 ? 0 : max(trial.mostRounds / 5, 1)
    for _ in 0..<min(scale.warmUps, warmUps) {
      _ = try await trial.figure()
      _ = try await trial.floor()
      _ = try await trial.lean?()
    }
    let isCounting = trial.isCounting || self.row.unit == .nanoseconds
    func note(_ reading: Reading, in figures: inout Figures) {
      figures.values.append(reading.figure)
      if isCounting { figures.expenses.append(reading.expense) }
    }
    for round in 0..<min(scale.rounds, trial.mostRounds) {
      note(try await trial.figure(), in: &self.figures)
      note(try await trial.floor(), in: &self.floors)
      guard let lean = trial.lean, round < Self.mostLeanRounds else { continue }
      note(try await lean(), in: &self.leans)
    }
    try await trial.end()
  }

  var figure: Double { self.figures.median }
  var floor: Double { self.floors.median }
  var ratio: Double { self.figure / self.floor }
  /// nil if there is no lean program.
  var lean: Double? { self.leans.values.isEmpty ? nil : self.leans.median }
  var leanRatio: Double? { self.lean.map { self.figure / $0 } }

  var verdict: Verdict {
    if self.failure != nil { return .missed }
    let (goal, figure, floor) = (self.row.goal, self.figure, self.floor)
    if goal.isMet(figure: figure, floor: floor) { return .met }
    let factor = self.speed?.factor ?? 1
    return goal.isMet(figure: figure, floor: floor, factor: factor) ? .metForSpeed : .missed
  }
}
