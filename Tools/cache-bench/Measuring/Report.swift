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
    let table = Table(rows: rows)
    print("T = \(Table.text(self.task, .nanoseconds)), \(Floor.taskTitle)\n")
    print(table.header)
    var outcomes = [Outcome]()
    for row in rows {
      let outcome = await Outcome(measuring: row, scale)
      print(table.line(for: outcome))
      outcomes.append(outcome)
    }
    self.outcomes = outcomes
    let missed = outcomes.count { !$0.isMet }
    print("\n\(outcomes.count - missed) of \(outcomes.count) goals met")
  }

  /// Whether every row reached its goal.
  var isMet: Bool { self.outcomes.allSatisfy(\.isMet) }

  /// Writes the figures as one JSON object.
  func write(to file: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let content = Content(
      rounds: self.scale.rounds,
      taskNanoseconds: self.task,
      rows: self.outcomes.map(RowContent.init)
    )
    try encoder.encode(content).write(to: URL(fileURLWithPath: file))
  }
}

// MARK: - JSON

private struct Content: Encodable {
  let rounds: Int
  let taskNanoseconds: Double
  let rows: [RowContent]
}

private struct RowContent: Encodable {
  private let outcome: Outcome

  init(_ outcome: Outcome) { self.outcome = outcome }

  private enum Key: String, CodingKey {
    case name, title, goal, unit, floorTitle, isMet, failure, figure, floor, ratio, figures, floors
    case processorTime, floorProcessorTime, bytesWritten, floorBytesWritten
  }

  // By hand, so that every key is there: a row that failed has nulls for its figures.
  func encode(to encoder: any Encoder) throws {
    let row = self.outcome.row
    let isMeasured = self.outcome.failure == nil
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(row.name, forKey: .name)
    try container.encode(row.title, forKey: .title)
    try container.encode(Table.text(row.goal, row.unit), forKey: .goal)
    try container.encode(row.unit, forKey: .unit)
    try container.encode(row.floor, forKey: .floorTitle)
    try container.encode(self.outcome.isMet, forKey: .isMet)
    try container.encode(self.outcome.failure, forKey: .failure)
    try container.encode(isMeasured ? self.outcome.figure : nil, forKey: .figure)
    try container.encode(isMeasured ? self.outcome.floor : nil, forKey: .floor)
    try container.encode(isMeasured ? self.outcome.ratio : nil, forKey: .ratio)
    try container.encode(isMeasured ? self.outcome.processorTime : nil, forKey: .processorTime)
    try container.encode(
      isMeasured ? self.outcome.floorProcessorTime : nil, forKey: .floorProcessorTime)
    try container.encode(isMeasured ? self.outcome.bytesWritten : nil, forKey: .bytesWritten)
    try container.encode(
      isMeasured ? self.outcome.floorBytesWritten : nil, forKey: .floorBytesWritten)
    try container.encode(self.outcome.figures, forKey: .figures)
    try container.encode(self.outcome.floors, forKey: .floors)
  }
}
