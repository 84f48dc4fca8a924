import Foundation
import Query
import TestSupport
import Testing

@Suite struct QueryStateProtocolTests {
  @Test func loadingComesBeforeAllElse() {
    var state = QueryState<Int?, Int>(initialValue: nil)
    state.update(with: .failure(TestError()), using: QueryContext())
    var task = QueryTask(context: QueryContext()) { _, _ in 1 }
    state.scheduleFetchTask(&task)
    #expect(state.status.isLoading)
    state.finishFetchTask(task)
    #expect(state.status.isFailure)
  }

  @Test func aStateThatWasNeverUpdatedIsIdleWhateverItsInitialValue() {
    #expect(QueryState<Int, Int>(initialValue: 3).status.isIdle)
    #expect(QueryState<Int?, Int>(initialValue: 3).status.isIdle)
  }

  @Test func aValueThatIsAbsentIsIdleWhereThePayloadCannotBe() {
    var state = QueryState<Int?, Int>(initialValue: nil)
    state.update(with: Result<Int?, any Error>.success(nil), using: QueryContext())
    #expect(state.valueUpdateCount == 1)
    #expect(state.status.isIdle)
  }

  @Test func aPayloadThatIsNilIsASuccess() {
    var state = QueryState<Int??, Int?>(initialValue: nil)
    let task = QueryTask<Int?>(context: QueryContext()) { _, _ in nil }
    state.update(with: .success(nil), for: task)
    #expect(state.status.isSuccessful)
    #expect(state.status.isFinished)
    #expect(state.status.resultValue == .some(nil))
    var plain = QueryState<Int?, Int?>(initialValue: 1)
    plain.update(with: .success(nil), for: task)
    #expect(plain.status.isSuccessful)
  }

  @Test func theErrorDecidesAlsoWhereTheClockStandsStill() {
    var context = QueryContext()
    context.queryClock = TestClock()
    var state = QueryState<Int?, Int>(initialValue: nil)
    for _ in 0..<3 {
      state.update(with: Result<Int?, any Error>.success(1), using: context)
      #expect(state.status.isSuccessful)
      state.update(with: .failure(TestError()), using: context)
      #expect(state.status.isFailure)
      #expect(state.valueLastUpdatedAt == state.errorLastUpdatedAt)
    }
  }
}
