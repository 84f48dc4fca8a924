import Query
import Testing

@Suite struct QueryContextRetryTests {
  @Test func defaults() {
    let context = QueryContext()
    #expect(context.retryIndex == 0)
    #expect(context.maxRetries == 0)
  }

  @Test func theOnlyAttemptIsTheFirstAndTheLast() {
    let context = QueryContext()
    #expect(context.isFirstFetchAttempt)
    #expect(!context.isFirstRetryAttempt)
    #expect(context.isLastRetryAttempt)
  }

  @Test(arguments: 0...3) func theFlagsFollowTheIndex(index: Int) {
    var context = QueryContext()
    context.maxRetries = 3
    context.retryIndex = index
    #expect(context.retryIndex == index)
    #expect(context.maxRetries == 3)
    #expect(context.isFirstFetchAttempt == (index == 0))
    #expect(context.isFirstRetryAttempt == (index == 1))
    #expect(context.isLastRetryAttempt == (index == 3))
  }

  @Test func copiesAreIndependent() {
    var context = QueryContext()
    context.maxRetries = 3
    var copy = context
    copy.retryIndex = 2
    copy.maxRetries = 5
    #expect(context.retryIndex == 0)
    #expect(context.maxRetries == 3)
  }
}
