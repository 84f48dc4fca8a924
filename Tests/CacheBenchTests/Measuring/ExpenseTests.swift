import Foundation
import Testing

@testable import cache_bench

/// What a round uses.
@Suite struct ExpenseTests {
  @Test func expensesAreAddedAndDividedPartByPart() {
    let one = Expense(processorTime: 8, bytesWritten: 6, frames: 4, syncs: 2)
    let sum = (one + one - one * 0.5) / 3
    #expect(sum.processorTime == 4 && sum.bytesWritten == 3 && sum.frames == 2 && sum.syncs == 1)
    #expect((one + Expense(syncs: .nan)).syncs.isNaN)
  }

  @Test func theMedianIsThatOfEachPart() {
    let expenses = [(1.0, 9.0), (2, 8), (3, 7), (10, 6)].map { Expense(frames: $0, syncs: $1) }
    let median = Expense.median(of: expenses)
    #expect(median?.frames == 2.5 && median?.syncs == 7.5)
    #expect(Expense.median(of: []) == nil)
  }

  @Test func bytesAndProcessorTimeOfThisProcessAreCounted() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    let before = Expense.current()
    try Data(count: 100_000).write(to: file)
    let used = Expense.current() - before
    #expect(used.bytesWritten >= 100_000)
    #expect(used.processorTime > 0)
  }

  @Test func aGaugeDividesAmongOperations() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    let gauge = Gauge()
    try Data(count: 1_000_000).write(to: file)
    let reading = gauge.reading(of: 7, per: 1_000)
    #expect(reading.figure == 7)
    #expect(reading.expense.bytesWritten >= 1_000)
    #expect(reading.ofProcessor.figure == reading.expense.processorTime)
  }
}
