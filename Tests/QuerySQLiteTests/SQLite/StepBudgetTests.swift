import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct StepBudgetTests {
  @Test func itEndsWithItsRowsOrItsTime() {
    let budget = StepBudget.rows(2)
    #expect([0, 1, 2].map { budget.isSpent(after: $0) } == [false, false, true])
    #expect(!budget.isSpent && !budget.isHalfSpent)
    #expect(StepBudget.spent.isSpent && StepBudget.spent.isHalfSpent)
  }

  @Test func onASlowDiskAStepIsShorter() throws {
    let folder = try TemporaryFolder()
    let connection = try DatabaseOpener(kind: .cache, folder: folder.path).openWriter()
    defer { try? connection.close() }
    #expect(connection.stepBudget(rows: 500).rows == 500)
    #expect(connection.stepBudget(rows: .max).rows >= 1 << 40)
    connection.stepShare = 0.1
    #expect(connection.stepBudget(rows: 500).rows == 50)
    #expect(connection.stepBudget(rows: 1).rows == 1)
    connection.stepShare = 0
    #expect(connection.stepBudget(rows: 500).isSpent)
  }

  @Test func aRowIsDoneHoweverLateItIs() {
    #expect([0, 1].map { StepBudget.spent.isSpent(after: $0) } == [false, true])
    #expect(StepBudget.rows(0).rows == 1)
  }
}
