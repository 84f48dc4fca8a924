import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct MaxPagesTests {
  private let source = PageSource()

  private func store(
    _ count: Int,
    _ pages: TestPages = [],
    fetch: @escaping @Sendable (PagesQuery.Call) async throws -> Int = { $0.id * 10 }
  ) -> QueryStore<TestPagesState> {
    .detached(query: PagesQuery(self.source, fetch: fetch).maxPages(count), initialValue: pages)
  }

  @Test func aPageAtTheEndDropsTheFirstOne() async throws {
    let store = self.store(3)
    try await store.load(3)
    #expect(store.ids == [1, 2, 3])
    #expect(try await store.fetchNextPage()?.id == 4)
    #expect(store.ids == [2, 3, 4])
    #expect(store.state.previousPageId == 1 && store.state.nextPageId == 5)
  }

  @Test func aPageAtTheBeginningDropsTheLastOne() async throws {
    let store = self.store(2)
    try await store.load(2)
    #expect(try await store.fetchPreviousPage()?.id == 0)
    #expect(store.ids == [0, 1])
    #expect(store.state.previousPageId == -1 && store.state.nextPageId == 2)
  }

  @Test func whatWasDroppedIsFetchedAgain() async throws {
    let store = self.store(2)
    try await store.load(4)
    #expect(store.ids == [3, 4])
    #expect(try await store.fetchPreviousPage()?.id == 2)
    #expect(try await store.fetchPreviousPage()?.id == 1)
    #expect(store.ids == [1, 2])
    #expect(try await store.fetchNextPage()?.id == 3)
    #expect(store.ids == [2, 3])
  }

  @Test func allPagesAreThoseThatAreKept() async throws {
    let store = self.store(2)
    try await store.load(3)
    let fetched = self.source.ids.count
    try await store.fetch()
    #expect(self.source.ids[fetched...] == [2, 3])
    #expect(store.ids == [2, 3])
    #expect(store.state.previousPageId == 1 && store.state.nextPageId == 4)
  }

  @Test func onePageIsAWindowOfOne() async throws {
    let store = self.store(1)
    try await store.load(3)
    #expect(store.ids == [3])
    #expect(store.state.previousPageId == 2 && store.state.nextPageId == 4)
    try await store.fetchPreviousPage()
    #expect(store.ids == [2])
    #expect(store.state.previousPageId == 1 && store.state.nextPageId == 3)
    try await store.fetch()
    #expect(store.ids == [2])
  }

  @Test func aYieldedValueOfThePageDropsAsWell() async throws {
    let store = self.store(1) { call in
      call.continuation.yield(call.id)
      return call.id * 10
    }
    let collector = EventCollector<TestPagesState>()
    let subscription = store.subscribe(with: collector.handler)
    try await store.load(2)
    #expect(store.currentValue == testPages(2...2))
    #expect(collector.states.contains { $0.currentValue == testPages([2: 2]) })
    #expect(store.state.previousPageId == 1 && store.state.nextPageId == 3)
    subscription.cancel()
  }

  @Test func whatWasSetByHandStaysUntilAPageIsFetched() async throws {
    let store = self.store(3)
    try await store.load(1)
    store.currentValue = testPages(1...6)
    #expect(store.ids == [1, 2, 3, 4, 5, 6])
    try await store.fetchAllPages()
    #expect(store.ids == [1, 2, 3])
    #expect(store.state.nextPageId == 4)
    store.currentValue = testPages(-2...3)
    try await store.fetchNextPage()
    #expect(store.ids == [2, 3, 4])
    #expect(store.state.previousPageId == 1)
  }

  @Test func theSamePageAgainDropsNothing() async throws {
    let store = self.store(2)
    try await store.load(2)
    self.source.setPage(after: 2, to: 1)
    try await store.fetch()
    try await store.fetchNextPage()
    #expect(store.ids == [1, 2])
  }

  /// Each drops at the other's end, whichever ends first.
  @Test(arguments: [false, true])
  func bothEndsGrowAtOnce(isNextFirst: Bool) async throws {
    let calls = PendingCalls<Int>()
    let store = self.store(2) { call in
      if (1...2).contains(call.id) { return call.id * 10 }
      return try await calls.wait(for: call.context, call.continuation)
    }
    try await store.load(2)
    let (next, previous) = (store.fetchNextPageTask(), store.fetchPreviousPageTask())
    async let nextEnd = next.runIfNeeded()
    async let previousEnd = previous.runIfNeeded()
    await calls.arrival(of: next.id)
    await calls.arrival(of: previous.id)
    let order =
      isNextFirst ? [(next.id, 30), (previous.id, 0)] : [(previous.id, 0), (next.id, 30)]
    calls.resume(order[0].0, with: .success(order[0].1))
    _ = isNextFirst ? try await nextEnd != nil : try await previousEnd != nil
    calls.resume(order[1].0, with: .success(order[1].1))
    _ = try await (nextEnd, previousEnd)
    // The neighbour of the second has gone with what the first dropped.
    #expect(store.ids == (isNextFirst ? [2, 3] : [0, 1]))
    #expect(store.state.previousPageId == (isNextFirst ? 1 : -1))
    #expect(store.state.nextPageId == (isNextFirst ? 4 : 2))
  }

  @Test func pagesThatAreDroppedAreReleasedWithoutALock() async throws {
    let released = Recorder<Int>()
    let store = QueryStore.detached(query: HeldPages(released: released).maxPages(1))
    HeldPages.store.withLock { $0 = store }
    try await store.fetchNextPage()
    try await store.fetchNextPage()
    // Another thread could not take the lock of the store if it were held.
    #expect(released.elements == [1])
    HeldPages.store.withLock { $0 = nil }
  }

  @Test func noPagesAtAllStopTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = PagesQuery().maxPages(0)
    }
    try expectSentence("PagesQuery: maxPages(_:)", in: result)
  }
}

/// Pages that ask their store for its state, from another thread, when they are released.
private struct HeldPages: InfiniteQueryRequest {
  final class Page: Sendable {
    let id: Int
    let released: Recorder<Int>

    init(id: Int, released: Recorder<Int>) { (self.id, self.released) = (id, released) }

    deinit {
      let (id, released) = (self.id, self.released)
      guard let store = HeldPages.store.withLock({ $0 }) else { return }
      #expect(isDoneElsewhere { _ = store.state.currentValue.count })
      released.append(id)
    }
  }

  static let store = Locked<QueryStore<InfiniteQueryState<Int, Page>>?>(nil)

  let released: Recorder<Int>
  var path: QueryPath { ["held"] }
  let initialPageId = 1

  func pageId(
    after page: InfiniteQueryPage<Int, Page>,
    using paging: InfiniteQueryPaging<Int, Page>,
    in context: QueryContext
  ) -> Int? { page.id + 1 }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, Page>,
    in context: QueryContext,
    with continuation: QueryContinuation<Page>
  ) async throws -> Page { Page(id: paging.pageId, released: self.released) }
}
