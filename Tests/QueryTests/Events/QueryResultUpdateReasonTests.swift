import Query
import Testing

@Suite struct QueryResultUpdateReasonTests {
  @Test func reasonsAreSpelledByTheirNames() {
    #expect(QueryResultUpdateReason.yieldedResult.description == "yieldedResult")
    #expect(QueryResultUpdateReason.returnedFinalResult.description == "returnedFinalResult")
    #expect(Set([QueryResultUpdateReason.yieldedResult, .returnedFinalResult]).count == 2)
  }

  @Test func aContextHasNoneUntilOneIsSet() {
    var context = QueryContext()
    #expect(context.queryResultUpdateReason == nil)
    context.queryResultUpdateReason = .yieldedResult
    #expect(context.queryResultUpdateReason == .yieldedResult)
  }
}
