import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct HandleEventsTests {
  @Test func eventsArriveWithoutASubscription() async throws {
    let collector = EventCollector<QueryState<Int?, Int>>()
    let store = QueryStore.detached(
      query: ProbeQuery().handleEvents(with: collector.handler), initialValue: nil)
    #expect(collector.events.isEmpty)
    try await store.fetch()
    #expect(
      collector.events == [
        .stateChanged, .fetchingStarted, .returned("1"), .stateChanged, .fetchingEnded,
      ])
    #expect(store.subscriberCount == 0)
  }

  @Test func itIsNoReasonToFetch() {
    let client = QueryClient()
    let collector = EventCollector<QueryState<Int?, Int>>()
    let store = client.store(for: ProbeQuery().handleEvents(with: collector.handler))
    #expect(!store.isLoading)
    #expect(collector.events.isEmpty)
  }

  @Test func severalHandlersEachGetAll() async throws {
    let (first, second) = (Counter(), Counter())
    let query = ProbeQuery()
      .handleEvents(with: QueryEventHandler(onFetchingEnded: { _ in first.increment() }))
      .handleEvents(with: QueryEventHandler(onFetchingEnded: { _ in second.increment() }))
    try await QueryStore.detached(query: query, initialValue: nil).fetch()
    #expect(first.value == 1)
    #expect(second.value == 1)
  }

  @Test func pagesAndAttemptsAreReported() async throws {
    let (pages, attempts) = (Counter(), Counter())
    let infinite = QueryStore.detached(
      query: PagesQuery().handleEvents(
        with: InfiniteQueryEventHandler(onPageFetchingEnded: { _, _ in pages.increment() })),
      initialValue: [])
    try await infinite.fetchNextPage()
    #expect(pages.value == 1)
    let mutation = QueryStore.detached(
      mutation: EchoMutation().handleEvents(
        with: MutationEventHandler(onMutatingEnded: { _, _ in attempts.increment() })))
    try await mutation.mutate(with: "text")
    #expect(attempts.value == 1)
  }

  @Test func aStoreIsReleasedWithItsHandler() async throws {
    weak var weakStore: QueryStore<QueryState<Int?, Int>>?
    do {
      let store = QueryStore.detached(
        query: ProbeQuery().handleEvents(with: QueryEventHandler(onStateChanged: { _, _ in })),
        initialValue: nil)
      weakStore = store
      try await store.fetch()
    }
    #expect(weakStore == nil)
  }
}
