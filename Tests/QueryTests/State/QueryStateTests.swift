import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStateTests {
  private static func context(_ clock: TestClock) -> QueryContext {
    var context = QueryContext()
    context.queryClock = clock
    return context
  }

  private static func task(_ context: QueryContext = QueryContext()) -> QueryTask<Int> {
    QueryTask(context: context) { _, _ in 1 }
  }

  @Test func aFreshStateHasNothingButItsInitialValue() {
    let state = IntState(initialValue: 3)
    #expect(state.currentValue == 3)
    #expect(state.initialValue == 3)
    #expect(state.valueUpdateCount == 0 && state.errorUpdateCount == 0)
    #expect(state.valueLastUpdatedAt == nil && state.errorLastUpdatedAt == nil)
    #expect(state.error == nil && !state.isLoading && state.activeTasks.isEmpty)
    #expect(state.status.isIdle)
  }

  @Test func aSuccessReplacesTheValueAndClearsTheErrorButNotItsHistory() {
    let clock = TestClock()
    var state = IntState(initialValue: nil)
    state.update(with: .failure(TestError()), using: Self.context(clock))
    let failedAt = clock.now()
    clock.advance(by: 5)
    state.update(with: .success(2), using: Self.context(clock))
    #expect(state.currentValue == 2)
    #expect(state.valueUpdateCount == 1)
    #expect(state.valueLastUpdatedAt == clock.now())
    #expect(state.error == nil)
    #expect(state.errorUpdateCount == 1)
    #expect(state.errorLastUpdatedAt == failedAt)
    #expect(state.status.resultValue == 2)
  }

  @Test func aFailureKeepsTheValueAndItsDate() {
    let clock = TestClock()
    var state = IntState(initialValue: nil)
    state.update(with: .success(2), using: Self.context(clock))
    let updatedAt = clock.now()
    clock.advance(by: 5)
    state.update(with: .failure(TestError()), using: Self.context(clock))
    #expect(state.currentValue == 2)
    #expect(state.valueLastUpdatedAt == updatedAt)
    #expect(state.valueUpdateCount == 1)
    #expect(state.error as? TestError == TestError())
    #expect(state.errorUpdateCount == 1)
    #expect(state.errorLastUpdatedAt == clock.now())
    #expect(state.status.isFailure)
  }

  @Test func anUpdateOfATaskUsesTheClockOfItsContext() {
    let clock = TestClock()
    var state = IntState(initialValue: nil)
    state.update(with: .success(2), for: Self.task(Self.context(clock)))
    #expect(state.currentValue == 2)
    #expect(state.valueLastUpdatedAt == clock.now())
    clock.advance(by: 1)
    state.update(with: .failure(TestError()), for: Self.task(Self.context(clock)))
    #expect(state.errorLastUpdatedAt == clock.now())
  }

  @Test func aStateIsLoadingWhileItHasTasks() {
    var state = IntState(initialValue: nil)
    var tasks = [Self.task(), Self.task()]
    state.scheduleFetchTask(&tasks[0])
    state.scheduleFetchTask(&tasks[1])
    #expect(state.activeTasks.map(\.id) == tasks.map(\.id))
    #expect(state.isLoading && state.status.isLoading)
    state.finishFetchTask(tasks[0])
    #expect(state.activeTasks.map(\.id) == [tasks[1].id])
    state.finishFetchTask(tasks[1].map { $0 })
    #expect(!state.isLoading && state.status.isIdle)
  }

  @Test func resetCancelsItsTasksAndIsFresh() {
    var state = IntState(initialValue: 3)
    var task = Self.task()
    state.scheduleFetchTask(&task)
    state.update(with: .success(2), using: QueryContext())
    state.update(with: .failure(TestError()), using: QueryContext())
    state.reset(using: QueryContext())
    #expect(task.isCancelled)
    #expect(state.currentValue == 3 && state.initialValue == 3)
    #expect(state.valueUpdateCount == 0 && state.errorUpdateCount == 0)
    #expect(state.valueLastUpdatedAt == nil && state.errorLastUpdatedAt == nil)
    #expect(state.error == nil && state.activeTasks.isEmpty)
  }

  @Test func aStateWithADefaultTakesThePlainValue() {
    var state = QueryState<Int, Int>(initialValue: 1)
    state.update(with: .success(2), for: Self.task())
    #expect(state.currentValue == 2)
    #expect(state.status.resultValue == 2)
  }
}
