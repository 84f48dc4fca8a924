import Foundation

/// The lines that people read.
struct Table {
  private let titleWidth: Int

  init(rows: [Row]) {
    self.titleWidth = rows.map(\.title.count).max() ?? 0
  }

  var header: String {
    self.line("row", "goal", "figure", "floor", "ratio", "cpu", "written", " ", "floor is")
  }

  func line(for outcome: Outcome) -> String {
    let row = outcome.row
    let goal = Self.text(row.goal, row.unit)
    if let failure = outcome.failure {
      return self.line(row.title, goal, "-", "-", "-", "-", "-", "✗", failure)
    }
    return self.line(
      row.title,
      goal,
      Self.text(outcome.figure, row.unit),
      Self.text(outcome.floor, row.unit),
      String(format: "%.2f", outcome.ratio),
      outcome.processorTime.map { Self.text($0, .nanoseconds) } ?? "",
      outcome.bytesWritten.map { $0 < 1 ? "" : Self.text($0, .bytes) } ?? "",
      outcome.isMet ? "✓" : "✗",
      row.floor
    )
  }

  private func line(
    _ title: String,
    _ goal: String,
    _ figure: String,
    _ floor: String,
    _ ratio: String,
    _ processorTime: String,
    _ bytesWritten: String,
    _ mark: String,
    _ note: String
  ) -> String {
    let numbers = [goal, figure, floor, ratio, processorTime, bytesWritten].map {
      Self.right($0, width: 12)
    }
    return "\(Self.left(title, width: self.titleWidth))\(numbers.joined())  \(mark)  \(note)"
  }

  // Foundation's padding counts UTF-16, but is not needed for more than this.
  private static func left(_ text: String, width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func right(_ text: String, width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}

// MARK: - Numbers

extension Table {
  static func text(_ goal: Goal, _ unit: Unit) -> String {
    switch goal {
    case .timesFloor(let limit): String(format: "≤ %g ×", limit)
    case .timesFloorAndMore(let limit, let more):
      String(format: "≤ %g × + ", limit) + self.text(more, unit)
    case .atMost(let limit): "≤ \(self.text(limit, unit))"
    case .above(let limit): "≤ + \(self.text(limit, unit))"
    case .near(let limit): String(format: "≤ %g × ±", limit)
    }
  }

  static func text(_ value: Double, _ unit: Unit) -> String {
    let isTime = unit == .nanoseconds || unit == .processorTime
    return switch unit {
    case .bytes where value < 1_048_576: String(format: "%.0f B", value)
    case .bytes: String(format: "%.1f MiB", value / 1_048_576)
    case .commits: String(format: "%.0f commits", value)
    case .wakeUps: String(format: "%.0f wake-ups", value)
    case _ where isTime && value < 100: String(format: "%.1f ns", value)
    case _ where isTime && value < 1000: String(format: "%.0f ns", value)
    case _ where isTime && value < 100_000: String(format: "%.2f µs", value / 1000)
    case _ where isTime && value < 1_000_000: String(format: "%.1f µs", value / 1000)
    case .nanoseconds, .processorTime: String(format: "%.2f ms", value / 1_000_000)
    }
  }
}
