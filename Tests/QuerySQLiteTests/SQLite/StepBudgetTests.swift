import Testing

@testable import QuerySQLite

@Suite struct StepBudgetTests {
  @Test func itEndsWithItsRowsOrItsTime() {
    let budget = StepBudget.rows(2)
    #expect([0, 1, 2].map { budget.isSpent(after: $0) } == [false, false, true])
    #expect(!budget.isSpent && !budget.isHalfSpent)
    #expect(StepBudget.spent.isSpent && StepBudget.spent.isHalfSpent)
  }

  @Test func aRowIsDoneHoweverLateItIs() {
    #expect([0, 1].map { StepBudget.spent.isSpent(after: $0) } == [false, true])
    #expect(StepBudget.rows(0).rows == 1)
  }
}
