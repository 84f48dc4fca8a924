import CCallCounts
import Foundation
import Query

/// What this process, and those that it has waited for, have used of the machine, besides time.
struct Expense: Encodable, Sendable {
  /// The processor time of all threads, in nanoseconds.
  var processorTime = 0.0
  /// The bytes that were handed to the system for writing, into whatever file.
  var bytesWritten = 0.0
  /// The frames that were written to WALs; not a number if they cannot be counted.
  var frames = 0.0
  /// The calls of fsync and fdatasync; not a number if they cannot be counted.
  var syncs = 0.0

  private enum CodingKeys: String, CodingKey {
    case processorTime, bytesWritten, frames, syncs
  }

  /// What the counts of other processes add up to.
  private static let others = Locked(Expense())

  static func current() -> Expense {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    var children = rusage()
    getrusage(RUSAGE_CHILDREN.rawValue, &children)
    var expense = self.others.withLock { $0 }
    expense.processorTime =
      Double(time.tv_sec) * 1e9 + Double(time.tv_nsec) + self.processorTime(of: children)
    expense.bytesWritten = self.bytesWritten()
    expense.frames += Double(call_counts_frames())
    expense.syncs += Double(call_counts_syncs())
    return expense
  }

  /// The nanoseconds that the kernel has counted.
  static func processorTime(of usage: rusage) -> Double {
    self.nanoseconds(usage.ru_utime) + self.nanoseconds(usage.ru_stime)
  }

  private static func nanoseconds(_ time: timeval) -> Double {
    Double(time.tv_sec) * 1e9 + Double(time.tv_usec) * 1e3
  }

  /// `wchar` of proc(5), which has that of processes that were waited for.
  private static func bytesWritten() -> Double {
    let descriptor = open("/proc/self/io", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return .nan }
    defer { close(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
      let text = buffer.prefix(max(read(descriptor, buffer.baseAddress, buffer.count), 0))
      let line = text.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "wchar: ".utf8) }
      return line.flatMap { Double(String(decoding: $0.dropFirst(7), as: UTF8.self)) } ?? .nan
    }
  }

  /// Adds the frames and syncs of a process that has ended.
  static func add(of other: Expense) {
    self.others.withLock {
      $0.frames += other.frames
      $0.syncs += other.syncs
    }
  }
}

// MARK: - Arithmetic

extension Expense {
  /// The same of each part.
  private func map(_ transform: (Double) -> Double) -> Expense {
    Expense(
      processorTime: transform(self.processorTime), bytesWritten: transform(self.bytesWritten),
      frames: transform(self.frames), syncs: transform(self.syncs))
  }

  static func + (lhs: Expense, rhs: Expense) -> Expense {
    Expense(
      processorTime: lhs.processorTime + rhs.processorTime,
      bytesWritten: lhs.bytesWritten + rhs.bytesWritten,
      frames: lhs.frames + rhs.frames, syncs: lhs.syncs + rhs.syncs)
  }

  static func - (lhs: Expense, rhs: Expense) -> Expense { lhs + rhs.map { -$0 } }
  static func * (lhs: Expense, factor: Double) -> Expense { lhs.map { $0 * factor } }
  static func / (lhs: Expense, count: Double) -> Expense { lhs.map { $0 / count } }

  /// The median of each part; nil if there are none.
  static func median(of expenses: [Expense]) -> Expense? {
    guard !expenses.isEmpty else { return nil }
    return Expense(
      processorTime: .median(of: expenses.map(\.processorTime)),
      bytesWritten: .median(of: expenses.map(\.bytesWritten)),
      frames: .median(of: expenses.map(\.frames)), syncs: .median(of: expenses.map(\.syncs)))
  }

  /// A number that is none is null in JSON.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    func encode(_ value: Double, _ key: CodingKeys) throws {
      try container.encode(value.isFinite ? value : nil, forKey: key)
    }
    try encode(self.processorTime, .processorTime)
    try encode(self.bytesWritten, .bytesWritten)
    try encode(self.frames, .frames)
    try encode(self.syncs, .syncs)
  }
}

extension Double {
  /// The middle of some numbers; not a number if there are none.
  static func median(of values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
