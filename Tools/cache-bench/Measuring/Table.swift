import Foundation

/// The lines that people read: of each row its own, one of its floor, and one of the lean program, all with the
/// same columns, and no wider than a terminal of 120.
enum Table {
  /// How wide each is: the goal or the ratio, the figure, processor time, bytes, frames and syncs.
  private static let widths = [18, 12, 11, 10, 8, 7]
  private static let titleWidth = 120 - Self.widths.reduce(0, +)

  static var header: String {
    self.lines("  row", ["goal, ratio", "figure", "cpu", "written", "frames", "syncs"])[0]
  }

  static func lines(for outcome: Outcome) -> [String] {
    let row = outcome.row
    let title = "\(outcome.verdict.sign) \(row.title)"
    let goal = self.text(row.goal, row.unit)
    if let failure = outcome.failure {
      return self.lines(title, [goal]) + self.lines("    failed: \(failure)", [])
    }
    var lines = self.lines(title, [goal] + self.numbers(outcome.figures, row.unit))
    lines += self.lines(
      "    floor: \(row.floor)",
      [self.ratio(outcome.ratio)] + self.numbers(outcome.floors, row.unit))
    if outcome.verdict != .met, let speed = outcome.speed {
      lines += self.lines("    speed of the machine, by T", [self.text(speed)])
    }
    switch row.lean {
    case .program(let text):
      lines += self.lines(
        "    lean: \(text)",
        [self.ratio(outcome.leanRatio ?? .nan)] + self.numbers(outcome.leans, row.unit))
    case .absent(let reason): lines += self.lines("    no lean program: \(reason)", [])
    case nil: break
    }
    return lines
  }

  private static func ratio(_ ratio: Double) -> String {
    ratio.isFinite ? String(format: "%.2f ×", ratio) : "-"
  }

  private static func numbers(_ figures: Outcome.Figures, _ unit: Unit) -> [String] {
    let figure = self.text(figures.median, unit)
    guard let expense = figures.expense else { return [figure] }
    return [
      figure, self.text(expense.processorTime, .nanoseconds),
      expense.bytesWritten < 1 ? "" : self.text(expense.bytesWritten, .bytes),
      self.count(expense.frames), self.count(expense.syncs),
    ]
  }

  private static func count(_ count: Double) -> String {
    if count.isNaN { return "-" }
    return count < 0.005 ? "" : String(format: count < 100 ? "%.2f" : "%.0f", count)
  }

  /// A line with numbers; others before it if the text is longer than its column.
  private static func lines(_ text: String, _ numbers: [String]) -> [String] {
    var lines = self.wrapped(text)
    let last = lines.removeLast()
    let columns = zip(numbers, self.widths).map { self.right($0, width: $1) }
    if columns.isEmpty { return lines + [last] }
    return lines + [self.left(last, width: self.titleWidth) + columns.joined()]
  }

  private static func wrapped(_ text: String) -> [String] {
    let indent = String(repeating: " ", count: text.hasPrefix(" ") ? 6 : 4)
    let words = text.split(separator: " ")
    var lines = [String(text.prefix { $0 == " " })]
    for (index, word) in words.enumerated() {
      let space = index == 0 || lines[lines.count - 1].hasSuffix(" ") ? "" : " "
      if index > 0 && lines[lines.count - 1].count + space.count + word.count > self.titleWidth {
        lines.append(indent + word)
      } else {
        lines[lines.count - 1] += space + word
      }
    }
    return lines
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

  static func text(_ speed: MachineSpeed) -> String { String(format: "goal × %.2f", speed.factor) }

  static func text(_ value: Double, _ unit: Unit) -> String {
    let isTime = unit.isTime
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
