/// What became of one row.
struct Outcome: Sendable {
  let row: Row
  let figures: Figures
  let floors: Figures
  /// Of the lean program; empty if there is none.
  let leans: Figures
  /// Why the row could not be measured.
  let failure: String?

  /// What the rounds of one kind took and used.
  struct Figures: Sendable {
    var values = [Double]()
    /// Empty if the row does not count it.
    var expenses = [Expense]()

    var median: Double { .median(of: self.values) }
    /// nil if the row does not count it.
    var expense: Expense? { .median(of: self.expenses) }
  }

  init(row: Row, figures: Figures, floors: Figures, leans: Figures, failure: String? = nil) {
    (self.row, self.failure) = (row, failure)
    (self.figures, self.floors, self.leans) = (figures, floors, leans)
  }

  /// A lean program decides nothing: so many rounds of it are enough.
  private static let mostLeanRounds = 21

  /// Measures a row.
  init(measuring row: Row, _ scale: Scale) async {
    var (figures, floors, leans) = (Figures(), Figures(), Figures())
    var failure: String?
    do {
      let trial = try await row.measure()
      try expect(trial.lean != nil, row.lean?.program != nil, "whether there is a lean program")
      // What is measured once takes long, and counts what a warm-up does not change.
      let warmUps = trial.mostRounds == 1 ? 0 : max(trial.mostRounds / 5, 1)
      for _ in 0..<min(scale.warmUps, warmUps) {
        _ = try await trial.figure()
        _ = try await trial.floor()
        _ = try await trial.lean?()
      }
      let isCounting = trial.isCounting || row.unit == .nanoseconds
      func note(_ reading: Reading, in figures: inout Figures) {
        figures.values.append(reading.figure)
        if isCounting { figures.expenses.append(reading.expense) }
      }
      for round in 0..<min(scale.rounds, trial.mostRounds) {
        note(try await trial.figure(), in: &figures)
        note(try await trial.floor(), in: &floors)
        guard let lean = trial.lean, round < Self.mostLeanRounds else { continue }
        note(try await lean(), in: &leans)
      }
      try await trial.end()
    } catch {
      failure = "\(error)"
    }
    self.init(row: row, figures: figures, floors: floors, leans: leans, failure: failure)
  }

  var figure: Double { self.figures.median }
  var floor: Double { self.floors.median }
  var ratio: Double { self.figure / self.floor }
  /// nil if there is no lean program.
  var lean: Double? { self.leans.values.isEmpty ? nil : self.leans.median }
  var leanRatio: Double? { self.lean.map { self.figure / $0 } }

  var isMet: Bool {
    self.failure == nil && self.row.goal.isMet(figure: self.figure, floor: self.floor)
  }
}
