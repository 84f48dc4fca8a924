import Foundation

/// What this process has used of the machine since it began, besides time.
struct Expense {
  /// The processor time of all threads, in nanoseconds.
  private(set) var processor: Double
  /// The bytes that were handed to the system for writing, into whatever file.
  private(set) var written: Double

  private init(processor: Double, written: Double) {
    (self.processor, self.written) = (processor, written)
  }

  static func current() -> Expense {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return Expense(
      processor: self.nanoseconds(usage.ru_utime) + self.nanoseconds(usage.ru_stime),
      written: self.bytesWritten())
  }

  private static func nanoseconds(_ time: timeval) -> Double {
    Double(time.tv_sec) * 1e9 + Double(time.tv_usec) * 1e3
  }

  /// `wchar` of proc(5).
  private static func bytesWritten() -> Double {
    let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8)
    let line = text?.split(separator: "\n").first { $0.hasPrefix("wchar: ") }
    return line.flatMap { Double($0.dropFirst(7)) } ?? .nan
  }

  static let zero = Expense(processor: 0, written: 0)

  static func - (lhs: Expense, rhs: Expense) -> Expense {
    Expense(processor: lhs.processor - rhs.processor, written: lhs.written - rhs.written)
  }

  static func * (lhs: Expense, factor: Double) -> Expense {
    Expense(processor: lhs.processor * factor, written: lhs.written * factor)
  }
}

/// One round, and what it used.
struct MeasuredRound {
  /// What one operation took, in the row's unit.
  let figure: Double
  /// What one operation used: the share of the round's use that the operation has of its time. nil if
  /// the row does not count time.
  let expense: Expense?

  init(_ round: Trial.Round, _ unit: Unit) async throws {
    let (before, watch) = (Expense.current(), Stopwatch())
    self.figure = try await round()
    let time = watch.nanoseconds()
    self.expense = unit == .nanoseconds ? (Expense.current() - before) * (self.figure / time) : nil
  }
}
