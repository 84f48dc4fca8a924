import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct OpaqueQueryStateTests {
  private func isNil(_ value: (any Sendable)?) -> Bool { value == nil }

  // MARK: - Values

  @Test func propertiesAreThoseOfTheBase() {
    let clock = TestClock()
    var context = QueryContext()
    context.queryClock = clock
    var base = QueryState<Int?, Int>(initialValue: 3)
    base.update(with: .success(4), using: context)
    base.update(with: .failure(TestError()), using: context)
    let state = OpaqueQueryState(base)
    #expect(state.currentValue as? Int == 4)
    #expect(state.initialValue as? Int == 3)
    #expect(state.valueUpdateCount == 1 && state.errorUpdateCount == 1)
    #expect(state.valueLastUpdatedAt == clock.now())
    #expect(state.errorLastUpdatedAt == clock.now())
    #expect(state.error is TestError)
    #expect(!state.isLoading)
    #expect(state.status.isFailure)
    #expect((state.base as? QueryState<Int?, Int>)?.currentValue == 4)
  }

  @Test func anAbsentValueIsNilAndNeverWrapsOne() {
    let state = OpaqueQueryState(QueryState<Int?, Int>(initialValue: nil))
    #expect(self.isNil(state.currentValue))
    #expect(self.isNil(state.initialValue))
    #expect(state.status.isIdle)
    #expect(self.isNil(OpaqueQueryState(EchoState()).currentValue))
  }

  @Test func aPresentValueIsNotAnOptional() throws {
    let state = OpaqueQueryState(QueryState<Int?, Int>(initialValue: 3))
    let value = try #require(state.currentValue)
    #expect(type(of: value) == Int.self)
  }

  @Test func absentValuesOfOptionalsInOptionalsAreNilToo() throws {
    var base = QueryState<Int??, Int?>(initialValue: nil)
    #expect(self.isNil(OpaqueQueryState(base).currentValue))
    base.update(with: .success(.some(nil)), using: QueryContext())
    #expect(self.isNil(OpaqueQueryState(base).currentValue))
    #expect(OpaqueQueryState(base).status.isIdle)
    base.update(with: .success(5), using: QueryContext())
    let value = try #require(OpaqueQueryState(base).currentValue)
    #expect(type(of: value) == Int.self)
    #expect(value as? Int == 5)
  }

  @Test func valuesThatAreNoOptionalsStayWhatTheyAre() throws {
    let state = OpaqueQueryState(QueryState<[Int?], [Int?]>(initialValue: [nil, 1]))
    #expect(state.currentValue as? [Int?] == [nil, 1])
    final class Reference: Sendable {}
    let reference = Reference()
    let holder = OpaqueQueryState(QueryState<Reference?, Reference>(initialValue: reference))
    #expect(holder.currentValue as? Reference === reference)
    let large = OpaqueQueryState(
      QueryState<LargeValue?, LargeValue>(initialValue: LargeValue())
    )
    #expect(large.currentValue as? LargeValue == LargeValue())
  }

  @Test func aSuccessIsSuccessful() {
    var state = OpaqueQueryState(QueryState<Int, Int>(initialValue: 3))
    #expect(state.status.isIdle)
    state.update(with: .success(4), using: QueryContext())
    #expect(state.status.resultValue as? Int == 4)
  }

  // MARK: - Updates

  @Test func updatesReachTheBase() async throws {
    var state = OpaqueQueryState(QueryState<Int?, Int>(initialValue: 1))
    state.update(with: .success(2), using: QueryContext())
    state.update(with: .success(nil), using: QueryContext())
    #expect(self.isNil(state.currentValue))
    state.update(with: .failure(TestError()), using: QueryContext())
    #expect(state.error is TestError)
    #expect((state.base as? QueryState<Int?, Int>)?.valueUpdateCount == 2)
    state.reset(using: QueryContext())
    #expect(state.currentValue as? Int == 1)
    #expect(state.valueUpdateCount == 0)
  }

  @Test func tasksAreScheduledOnTheBase() async throws {
    var state = OpaqueQueryState(TestPagesState(initialValue: [], initialPageId: 1))
    var task = QueryTask<any Sendable>(context: QueryContext()) { _, _ in
      throw TestError()
    }
    state.scheduleFetchTask(&task)
    #expect(state.isLoading)
    let base = try #require(state.base as? TestPagesState)
    #expect(base.initialPageActiveTasks.ids == [task.id])
    state.update(with: .failure(TestError()), for: task)
    #expect(state.errorUpdateCount == 1)
    state.finishFetchTask(task)
    #expect(!state.isLoading)
  }

  @Test func aResultOfATaskReachesTheBase() {
    var state = OpaqueQueryState(QueryState<Int?, Int>(initialValue: nil))
    let clock = TestClock()
    var context = QueryContext()
    context.queryClock = clock
    var task = QueryTask<any Sendable>(context: context) { _, _ in 3 }
    state.scheduleFetchTask(&task)
    state.update(with: .success(3), for: task)
    #expect(state.currentValue as? Int == 3)
    #expect(state.valueLastUpdatedAt == clock.now())
    state.finishFetchTask(task)
    #expect(!state.isLoading)
  }

  @Test func whatTheBaseWritesIntoATaskIsKept() async throws {
    var state = OpaqueQueryState(EchoState())
    let source = QueryStore.detached(mutation: EchoMutation())
    var task = QueryTask<any Sendable>(context: source.mutateTask(with: "a").context) { _, _ in
      0
    }
    state.scheduleFetchTask(&task)
    #expect((state.base as? EchoState)?.history.first?.arguments == "a")
    state.reset(using: QueryContext())
    #expect(task.isCancelled)
  }

  // MARK: - Misuse

  @Test func updatesOfAnotherTypeStopTheProgram() async {
    await #expect(processExitsWith: .failure) {
      var state = OpaqueQueryState(QueryState<Int?, Int>(initialValue: nil))
      state.update(with: .success("three"), using: QueryContext())
    }
    await #expect(processExitsWith: .failure) {
      var state = OpaqueQueryState(QueryState<Int?, Int>(initialValue: nil))
      let task = QueryTask<any Sendable>(context: QueryContext()) { _, _ in 3 }
      state.update(with: .success("three"), for: task)
    }
  }
}

private struct LargeValue: Hashable, Sendable {
  var numbers = (0..<6).map { $0 }
  var first = "a longer string, not stored inline"
  var second = 2.5
  var third = UInt64.max
  var fourth = true
}
