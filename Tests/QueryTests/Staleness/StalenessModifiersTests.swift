import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct StalenessModifiersTests {
  private let clock = TestClock()

  // MARK: - Predicates

  @Test func withoutModifiersAStoreIsAlwaysStale() async throws {
    let store = QueryStore.detached(query: ProbeQuery(), initialValue: nil)
    #expect(store.isStale)
    try await store.fetch()
    #expect(store.isStale)
  }

  @Test func aPredicateGetsTheTypedStateAndTheStoresContext() {
    let query = ProbeQuery().staleWhen { state, context in
      state.currentValue == 1 && context.maxRetries == 5
    }
    let store = QueryStore.detached(query: query, initialValue: 1)
    #expect(!store.isStale)
    store.context.maxRetries = 5
    #expect(store.isStale)
    store.currentValue = 2
    #expect(!store.isStale)
  }

  @Test func aPredicateForAnotherStateIsFalse() {
    let donor = QueryStore.detached(
      query: ProbeTextQuery().staleWhen { _, _ in true },
      initialValue: nil
    )
    #expect(donor.isStale)
    let store = QueryStore.detached(
      query: ProbeQuery(),
      initialValue: nil,
      initialContext: donor.context
    )
    #expect(!store.isStale)
  }

  @Test func aConditionIsAskedInTheContextOfTheStore() {
    let observer = MockNetworkObserver(initialStatus: .requiresConnection)
    let query = ProbeQuery().staleWhen(condition: .connected(to: observer))
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(!store.isStale)
    store.context.satisfiedConnectionStatus = .requiresConnection
    #expect(store.isStale)
    observer.send(status: .disconnected)
    #expect(!store.isStale)
  }

  @Test func staleWhenNoValueAsksForTheValue() {
    let store = QueryStore.detached(query: ProbeQuery().staleWhenNoValue(), initialValue: nil)
    #expect(store.isStale)
    store.currentValue = 1
    #expect(!store.isStale)
    store.currentValue = nil
    #expect(store.isStale)
  }

  @Test func severalAreOred() {
    let query = ProbeQuery().staleWhenNoValue().staleWhen { state, _ in state.currentValue == 7 }
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.isStale)
    store.currentValue = 1
    #expect(!store.isStale)
    store.currentValue = 7
    #expect(store.isStale)
  }

  @Test func theOutermostIsAskedFirstAndMayBeEnough() {
    let order = Recorder<String>()
    let query = ProbeQuery()
      .staleWhen { _, _ in
        order.append("inner")
        return true
      }
      .staleWhen { _, _ in
        order.append("outer")
        return true
      }
    #expect(QueryStore.detached(query: query, initialValue: nil).isStale)
    #expect(order.elements == ["outer"])
  }

  // MARK: - Age

  @Test(arguments: [true, false])
  func anAgeCountsFromTheLastUpdateOfTheValue(_ isDuration: Bool) async throws {
    let store =
      isDuration
      ? QueryStore.detached(
        query: ProbeQuery().stale(after: .seconds(10)).clock(self.clock), initialValue: 3)
      : QueryStore.detached(
        query: ProbeQuery().stale(after: 10).clock(self.clock), initialValue: 3)
    #expect(store.isStale, "an initial value was never updated")
    try await store.fetch()
    #expect(!store.isStale)
    self.clock.advance(by: 10)
    #expect(!store.isStale, "stale after more than 10 seconds, not after 10")
    self.clock.advance(by: 0.001)
    #expect(store.isStale)
    store.currentValue = 4
    #expect(!store.isStale)
    store.reset()
    #expect(store.isStale)
  }

  @Test func anErrorDoesNotMakeAValueYounger() {
    let query = ProbeQuery().stale(after: 10).clock(self.clock)
    let store = QueryStore.detached(query: query, initialValue: nil)
    store.setResult(to: .failure(TestError()))
    #expect(store.isStale)
    store.currentValue = 1
    self.clock.advance(by: 11)
    store.setResult(to: .failure(TestError()))
    #expect(store.isStale)
  }

  @Test func agesOfZeroAndInfinity() {
    let zero = QueryStore.detached(
      query: ProbeQuery().stale(after: 0).clock(self.clock),
      initialValue: nil
    )
    let infinite = QueryStore.detached(
      query: ProbeQuery().stale(after: .infinity).clock(self.clock),
      initialValue: nil
    )
    #expect(infinite.isStale)
    zero.currentValue = 1
    infinite.currentValue = 1
    #expect(!zero.isStale)
    self.clock.advance(by: 1e9)
    #expect(zero.isStale)
    #expect(!infinite.isStale)
  }

  @Test func pagesAndMutationsHaveAges() async throws {
    let pages = QueryStore.detached(query: ProbePages().stale(after: 5).clock(self.clock))
    let mutation = QueryStore.detached(mutation: ProbeMutation().stale(after: 5).clock(self.clock))
    #expect(pages.isStale)
    #expect(mutation.isStale)
    try await pages.fetchNextPage()
    try await mutation.mutate(with: 1)
    #expect(!pages.isStale)
    #expect(!mutation.isStale)
    self.clock.advance(by: 6)
    #expect(pages.isStale)
    #expect(mutation.isStale)
  }

  // MARK: - What it decides

  @Test func stalenessGatesAutomaticFetchesAlone() async throws {
    let fetches = Counter()
    let query = ProbeQuery(onFetch: { _, _ in fetches.increment() })
      .staleWhenNoValue().enableAutomaticFetching(onlyWhen: .always(true))
    let store = QueryStore.detached(query: query, initialValue: 3)
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(!store.isLoading)
    #expect(fetches.value == 0)
    #expect(try await store.fetch() == 1)
    subscription.cancel()
  }

  // MARK: - Bad input

  @Test func aNegativeAgeIsAPrecondition() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      _ = ProbeQuery().stale(after: -1)
    }
    try expectSentence(
      "ProbeQuery: stale(after:) takes a number of seconds that is not negative; got -1.0.",
      in: result)
  }

  @Test func anAgeThatIsNoNumberIsAPrecondition() async {
    await #expect(processExitsWith: .failure) { _ = ProbeQuery().stale(after: .nan) }
  }

  @Test func aHistoryWithoutRoomIsAPrecondition() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      _ = ProbeMutation().maxHistory(length: 0)
    }
    try expectSentence("ProbeMutation: ", in: result)
    try expectSentence(_tooSmallMutationHistoryLengthMessage(got: 0), in: result)
  }
}
