import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryContextClockTests {
  private let clock = TestClock()

  @Test func theDefaultIsTheSystemsClock() {
    #expect(QueryContext().queryClock is SystemTimeClock)
  }

  @Test func theInnerClockWins() {
    let query = ProbeQuery().clock(self.clock).clock(.systemTime)
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.queryClock as? TestClock === self.clock)
  }

  @Test func datesOfAFetchComeFromTheClock() async throws {
    let query = ProbeQuery(onFetch: { context, _ in
      if context.queryTaskConfiguration.name == "failing" { throw TestError() }
      return 1
    })
    let store = QueryStore.detached(query: query.clock(self.clock), initialValue: nil)
    let start = self.clock.now()
    try await store.fetch()
    self.clock.advance(by: 5)
    _ = try? await store.fetch(using: QueryTaskConfiguration(name: "failing"))
    #expect(store.valueLastUpdatedAt == start)
    #expect(store.errorLastUpdatedAt == start + 5)
  }

  @Test func datesOfUpdatesByHandComeFromTheClockOfTheGivenContext() {
    let store = QueryStore.detached(query: ProbeQuery().clock(self.clock), initialValue: nil)
    store.currentValue = 3
    #expect(store.valueLastUpdatedAt == self.clock.now())
    var context = QueryContext()
    context.queryClock = .timeFreeze(Date(timeIntervalSince1970: 9))
    store.setResult(to: .success(4), using: context)
    #expect(store.valueLastUpdatedAt == Date(timeIntervalSince1970: 9))
  }

  @Test func datesOfAMutationsHistoryComeFromTheClock() async throws {
    let clock = self.clock
    let start = clock.now()
    let mutation = ProbeMutation(onMutate: { argument, _ in
      clock.advance(by: 2)
      return argument
    })
    let store = QueryStore.detached(mutation: mutation.clock(clock))
    try await store.mutate(with: 1)
    #expect(store.history.map(\.startDate) == [start])
    #expect(store.history.map(\.lastUpdatedAt) == [start + 2])
  }
}
