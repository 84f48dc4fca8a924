import Foundation

/// The outcomes of all rows that were measured.
struct Report: Sendable {
  private let scale: Scale
  private let task: Double
  private let outcomes: [Outcome]

  /// Measures rows and prints each as soon as it is known.
  init(measuring rows: [Row], _ scale: Scale) async {
    #if DEBUG
      print("Built without -c release: these figures say nothing.")
    #endif
    self.scale = scale
    self.task = (try? await Floor.task(scale)) ?? .nan
    print("T = \(Table.text(self.task, .nanoseconds)), \(Floor.taskTitle)\n")
    print(Table.header)
    var outcomes = [Outcome]()
    for row in rows {
      let outcome = await Outcome(measuring: row, scale)
      for line in Table.lines(for: outcome) { print(line) }
      outcomes.append(outcome)
    }
    self.outcomes = outcomes
    print("\n\(self.summary)")
  }

  init(scale: Scale, task: Double, outcomes: [Outcome]) {
    (self.scale, self.task, self.outcomes) = (scale, task, outcomes)
  }

  /// Whether every row reached its goal, as far as the speed of the machine allows it.
  var isMet: Bool { self.outcomes.allSatisfy { $0.verdict != .missed } }

  /// How many rows reached their goals.
  var summary: String {
    let met = self.outcomes.count { $0.verdict == .met }
    let metForSpeed = self.outcomes.count { $0.verdict == .metForSpeed }
    let text = "\(met) of \(self.outcomes.count) goals met"
    if metForSpeed == 0 { return text }
    let task = Table.text(MachineSpeed.taskOfGoals, .nanoseconds)
    return text + ", and \(metForSpeed) (≈) for the speed of this machine: "
      + "the goals in time are those of one on which T is \(task)"
  }

  /// Writes the figures as one JSON object.
  func write(to file: String) throws {
    try self.json().write(to: URL(fileURLWithPath: file))
  }

  /// One JSON object. Its keys stay what they are: a row that failed, or lacks something, has nulls.
  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    let content = Content(
      date: Date(),
      machine: .current(),
      rounds: self.scale.rounds,
      taskNanoseconds: self.task,
      rows: self.outcomes.map(RowContent.init)
    )
    return try encoder.encode(content)
  }
}

// MARK: - JSON

private struct Content: Encodable {
  let date: Date
  let machine: Machine
  let rounds: Int
  let taskNanoseconds: Double
  let rows: [RowContent]
}

private struct RowContent: Encodable {
  private let outcome: Outcome

  init(_ outcome: Outcome) { self.outcome = outcome }

  private enum Key: String, CodingKey {
    case name, title, goal, unit, isMet, verdict, taskNanoseconds, failure
    case floorTitle, leanTitle, noLeanBecause
    case figure, floor, lean, ratio, leanRatio
    case figures, floors, leans, expenses, floorExpenses, leanExpenses
    case processorTime, floorProcessorTime, leanProcessorTime
    case bytesWritten, floorBytesWritten, leanBytesWritten
    case frames, floorFrames, leanFrames, syncs, floorSyncs, leanSyncs
  }

  // By hand, so that every key is there.
  func encode(to encoder: any Encoder) throws {
    let row = self.outcome.row
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(row.name, forKey: .name)
    try container.encode(row.title, forKey: .title)
    try container.encode(Table.text(row.goal, row.unit), forKey: .goal)
    try container.encode(row.unit, forKey: .unit)
    try container.encode(row.floor, forKey: .floorTitle)
    try container.encode(row.lean?.program, forKey: .leanTitle)
    try container.encode(row.lean?.reason, forKey: .noLeanBecause)
    try container.encode(self.outcome.verdict == .met, forKey: .isMet)
    try container.encode(self.outcome.verdict, forKey: .verdict)
    try container.encode(self.outcome.speed?.task, forKey: .taskNanoseconds)
    try container.encode(self.outcome.failure, forKey: .failure)
    try self.encodeFigures(into: &container)
    try self.encodeExpenses(into: &container)
  }

  private func encodeFigures(into container: inout KeyedEncodingContainer<Key>) throws {
    let outcome = self.outcome
    let isMeasured = outcome.failure == nil
    try container.encode(isMeasured ? outcome.figure : nil, forKey: .figure)
    try container.encode(isMeasured ? outcome.floor : nil, forKey: .floor)
    try container.encode(isMeasured ? outcome.lean : nil, forKey: .lean)
    // A floor of nothing has no ratio.
    try container.encode(isMeasured ? outcome.ratio.finite : nil, forKey: .ratio)
    try container.encode(isMeasured ? outcome.leanRatio?.finite : nil, forKey: .leanRatio)
    try container.encode(outcome.figures.values, forKey: .figures)
    try container.encode(outcome.floors.values, forKey: .floors)
    try container.encode(outcome.leans.values, forKey: .leans)
    try container.encode(outcome.figures.expenses, forKey: .expenses)
    try container.encode(outcome.floors.expenses, forKey: .floorExpenses)
    try container.encode(outcome.leans.expenses, forKey: .leanExpenses)
  }

  private func encodeExpenses(into container: inout KeyedEncodingContainer<Key>) throws {
    func encode(_ figures: Outcome.Figures, _ keys: [Key]) throws {
      let expense = self.outcome.failure == nil ? figures.expense : nil
      let values = [
        expense?.processorTime, expense?.bytesWritten, expense?.frames, expense?.syncs,
      ]
      for (key, value) in zip(keys, values) { try container.encode(value?.finite, forKey: key) }
    }
    try encode(self.outcome.figures, [.processorTime, .bytesWritten, .frames, .syncs])
    try encode(
      self.outcome.floors,
      [.floorProcessorTime, .floorBytesWritten, .floorFrames, .floorSyncs])
    try encode(
      self.outcome.leans, [.leanProcessorTime, .leanBytesWritten, .leanFrames, .leanSyncs])
  }
}

extension Double {
  /// nil instead of what JSON has no number for.
  fileprivate var finite: Double? { self.isFinite ? self : nil }
}
