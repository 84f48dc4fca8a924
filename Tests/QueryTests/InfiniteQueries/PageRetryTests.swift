import Query
import TestSupport
import Testing

/// What a failed attempt has yielded of a page is in the list when the next one begins.
@Suite(.warningsAreIssues)
struct PageRetryTests {
  /// A call, and the list for which it is made.
  struct Case: Sendable, CustomTestStringConvertible {
    let isNext: Bool
    let loaded: Int
    var limit = Int.max
    /// Whether the query is deduplicated, and has a time limit.
    var isModified = false

    var testDescription: String {
      "\(self.isNext ? "next" : "previous") of \(self.loaded), at most \(self.limit)"
        + (self.isModified ? ", modified" : "")
    }

    /// The page that is asked for.
    var id: Int { self.loaded == 0 ? 1 : self.isNext ? self.loaded + 1 : 0 }
  }

  let source = PageSource()

  @Test(arguments: [
    Case(isNext: true, loaded: 0), Case(isNext: false, loaded: 0),
    Case(isNext: true, loaded: 1), Case(isNext: false, loaded: 1),
    Case(isNext: true, loaded: 3), Case(isNext: false, loaded: 3),
    Case(isNext: true, loaded: 1, limit: 1), Case(isNext: false, loaded: 1, limit: 1),
    Case(isNext: true, loaded: 3, limit: 3), Case(isNext: false, loaded: 3, limit: 3),
    Case(isNext: true, loaded: 0, isModified: true),
    Case(isNext: false, loaded: 2, isModified: true),
    Case(isNext: true, loaded: 2, isModified: true),
  ])
  func aRetryFetchesThePageOfWhichTheFailedAttemptHasYielded(_ test: Case) async throws {
    let query = PagesQuery(self.source) { call in
      guard call.id == test.id, call.context.retryIndex < 2 else { return call.id * 10 }
      call.continuation.yield(call.id)
      throw TestError()
    }
    let limited = query.maxPages(test.limit)
    let store: QueryStore<TestPagesState> =
      test.isModified
      ? .detached(
        query: limited.timeout(after: .seconds(60)).retry(limit: 2).backoff(.noBackoff)
          .delayer(.noDelay).deduplicated(),
        initialValue: [])
      : .detached(
        query: limited.retry(limit: 2).backoff(.noBackoff).delayer(.noDelay), initialValue: [])
    try await store.load(test.loaded)
    let collector = EventCollector<TestPagesState>()
    let subscription = store.subscribe(with: collector.handler)

    let page = try await test.isNext ? store.fetchNextPage() : store.fetchPreviousPage()

    #expect(page == TestPage(id: test.id, value: test.id * 10))
    let asked = self.source.pagings.suffix(3)
    #expect(asked.map(\.pageId) == [test.id, test.id, test.id])
    #expect(Set(asked.map(\.request)).count == 1)
    let first = asked.first?.pages.ids ?? []
    // A list that is full has lost the page at its other end to what was yielded.
    let expected =
      test.limit > test.loaded ? first : test.isNext ? Array(first.dropFirst()) : first.dropLast()
    #expect(asked.dropFirst().map(\.pages.ids) == [expected, expected])
    let loaded = test.loaded == 0 ? [] : Array(1...test.loaded)
    let whole = Set(loaded + [test.id]).sorted()
    let ids = Array(test.isNext ? whole.suffix(test.limit) : whole.prefix(test.limit))
    #expect(
      store.currentValue == TestPages(uniqueElements: ids.map { TestPage(id: $0, value: $0 * 10) }))
    #expect(store.state.nextPageId == ids[ids.count - 1] + 1)
    #expect(store.state.previousPageId == ids[0] - 1)
    #expect(collector.states.contains { $0.currentValue[id: test.id]?.value == test.id })
    subscription.cancel()

    let next = try await test.isNext ? store.fetchNextPage() : store.fetchPreviousPage()
    #expect(next?.id == (test.isNext ? test.id + 1 : test.id - 1))
  }

  /// A store whose first attempt at a page yields it, waits at a gate, and fails.
  private func store(failingOnceIn id: Int, at gate: Gate) -> QueryStore<TestPagesState> {
    let query = PagesQuery(self.source) { call in
      guard call.id == id, call.context.retryIndex == 0 else { return call.id * 10 }
      call.continuation.yield(call.id)
      try await gate.pass()
      throw TestError()
    }
    return .detached(
      query: query.retry(limit: 1).backoff(.noBackoff).delayer(.noDelay), initialValue: [])
  }

  @Test func aRetryGoesOnBehindAListThatWasSetMeanwhile() async throws {
    let gate = Gate()
    let store = self.store(failingOnceIn: 3, at: gate)
    try await store.load(2)
    async let page = store.fetchNextPage()
    await gate.arrival()
    store.currentValue = testPages(8...9)
    gate.open()
    // The page behind which it yielded is gone, and the id that it led to stays.
    let fetched = try await page
    #expect(fetched == TestPage(id: 4, value: 40))
  }

  @Test(arguments: [true, false])
  func aRetryFetchesThePageThatSomebodyHasRemoved(isNext: Bool) async throws {
    let gate = Gate()
    let id = isNext ? 3 : 0
    let store = self.store(failingOnceIn: id, at: gate)
    try await store.load(2)
    async let page = isNext ? store.fetchNextPage() : store.fetchPreviousPage()
    await gate.arrival()
    store.currentValue.remove(id: id)
    gate.open()
    let fetched = try await page
    #expect(fetched == TestPage(id: id, value: id * 10))
    #expect(self.source.pagings.last?.pages.ids == [1, 2])
    #expect(store.currentValue.map(\.id) == (isNext ? [1, 2, 3] : [0, 1, 2]))
  }

  @Test func aPageThatIsReplacedInItsPlaceIsFetchedForTheSameList() async throws {
    let query = PagesQuery(self.source) { call in
      guard call.id == 1, call.context.retryIndex == 0, self.source.ids.count > 2 else {
        return call.id * 10
      }
      call.continuation.yield(call.id)
      throw TestError()
    }
    let store = QueryStore.detached(
      query: query.retry(limit: 1).backoff(.noBackoff).delayer(.noDelay), initialValue: [])
    try await store.load(1)
    self.source.setPage(after: 2, to: 1)
    try await store.load(2)
    #expect(self.source.ids == [1, 2, 1, 1])
    #expect(self.source.pagings.map(\.pages.ids) == [[], [1], [1, 2], [1, 2]])
    #expect(store.currentValue == testPages(1...2))
  }

  @Test func aModifierThatFetchesTwiceFetchesTwoPages() async throws {
    let query = PagesQuery(self.source) { call in
      call.continuation.yield(call.id)
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.modifier(FetchingTwice()), initialValue: [])
    try await store.fetchNextPage()
    #expect(self.source.ids == [1, 2])
  }
}
