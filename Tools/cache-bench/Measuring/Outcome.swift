/// What became of one row.
struct Outcome: Sendable {
  let row: Row
  let figures: [Double]
  let floors: [Double]
  /// Why the row could not be measured.
  let failure: String?

  /// Measures a row.
  init(measuring row: Row, _ scale: Scale) async {
    self.row = row
    var figures = [Double]()
    var floors = [Double]()
    var failure: String?
    do {
      let trial = try await row.measure()
      for _ in 0..<min(scale.warmUps, max(trial.mostRounds / 5, 1)) {
        _ = try await trial.figure()
        _ = try await trial.floor()
      }
      for _ in 0..<min(scale.rounds, trial.mostRounds) {
        figures.append(try await trial.figure())
        floors.append(try await trial.floor())
      }
      try await trial.end()
    } catch {
      failure = "\(error)"
    }
    self.figures = figures
    self.floors = floors
    self.failure = failure
  }

  var figure: Double { Self.median(self.figures) }
  var floor: Double { Self.median(self.floors) }
  var ratio: Double { self.figure / self.floor }

  var isMet: Bool {
    self.failure == nil && self.row.goal.isMet(figure: self.figure, floor: self.floor)
  }

  private static func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
