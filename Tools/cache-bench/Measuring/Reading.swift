/// What one operation of a round took, in the row's unit, and what it used.
struct Reading: Sendable {
  var figure: Double
  var expense: Expense

  static let zero = Reading(figure: 0, expense: Expense())

  /// The same operation, measured by its processor time.
  var ofProcessor: Reading {
    Reading(figure: self.expense.processorTime, expense: self.expense)
  }

  static func += (lhs: inout Reading, rhs: Reading) {
    lhs = Reading(figure: lhs.figure + rhs.figure, expense: lhs.expense + rhs.expense)
  }

  static func / (lhs: Reading, count: Int) -> Reading {
    Reading(figure: lhs.figure / Double(count), expense: lhs.expense / Double(count))
  }
}

/// Tells what something took and used since the gauge was made.
struct Gauge {
  private let before = Expense.current()
  private let watch = Stopwatch()

  /// The nanoseconds, divided among operations.
  func reading(per count: Int = 1) -> Reading {
    let time = self.watch.nanoseconds()
    return Reading(figure: time, expense: Expense.current() - self.before) / count
  }

  /// A figure of another kind for one operation, and what that used.
  func reading(of figure: Double, per count: Int = 1) -> Reading {
    var reading = self.reading(per: count)
    reading.figure = figure
    return reading
  }
}
