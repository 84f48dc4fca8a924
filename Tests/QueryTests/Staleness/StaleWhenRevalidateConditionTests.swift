import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct StaleWhenRevalidateConditionTests {
  private let state = QueryState<Int?, Int>(initialValue: 4)

  @Test func withoutPredicatesEverythingIsStale() {
    #expect(StaleWhenRevalidateCondition().evaluate(state: self.state, in: QueryContext()))
  }

  @Test(
    arguments: [([false], false), ([true], true), ([false, true], true), ([false, false], false)]
  )
  func anyPredicateIsEnough(answers: [Bool], isStale: Bool) {
    var condition = StaleWhenRevalidateCondition()
    for answer in answers { condition.add { _, _ in answer } }
    #expect(condition.evaluate(state: self.state, in: QueryContext()) == isStale)
  }

  @Test func predicatesAreAskedInOrderUntilOneSaysSo() {
    let order = Recorder<Int>()
    var condition = StaleWhenRevalidateCondition()
    for index in 0..<4 {
      condition.add { _, _ in
        order.append(index)
        return index == 2
      }
    }
    #expect(condition.evaluate(state: self.state, in: QueryContext()))
    #expect(order.elements == [0, 1, 2])
  }

  @Test func predicatesGetTheStateAndTheContext() {
    var context = QueryContext()
    context.maxRetries = 6
    var condition = StaleWhenRevalidateCondition()
    condition.add { state, context in
      state.base is QueryState<Int?, Int> && context.maxRetries == 6
    }
    #expect(condition.evaluate(state: self.state, in: context))
    #expect(!condition.evaluate(state: self.state, in: QueryContext()))
  }

  @Test func copiesAreIndependent() {
    var condition = StaleWhenRevalidateCondition()
    condition.add { _, _ in false }
    var copy = condition
    copy.add { _, _ in true }
    #expect(!condition.evaluate(state: self.state, in: QueryContext()))
    #expect(copy.evaluate(state: self.state, in: QueryContext()))
  }

  @Test func theContextsDefaultHasNoPredicates() {
    let condition = QueryContext().staleWhenRevalidateCondition
    #expect(condition.evaluate(state: self.state, in: QueryContext()))
  }
}
