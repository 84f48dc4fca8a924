import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct InfiniteQueryFetchTests {
  private let source = PageSource()

  // MARK: - What a page is fetched for

  @Test func theInitialPageHasNoPagesBesideIt() async throws {
    try await PagesQuery(self.source).store().fetch()
    let paging = try #require(self.source.pagings.first)
    #expect(paging.pageId == 1)
    #expect(paging.pages.isEmpty)
    #expect(paging.request == .initialPage)
    #expect(self.source.pagings.count == 1)
  }

  @Test func nextAndPreviousPagesAreFetchedBesideThePagesAtHand() async throws {
    let store = PagesQuery(self.source).store()
    try await store.load(2)
    try await store.fetchPreviousPage()
    let pagings = self.source.pagings
    #expect(pagings.map(\.pageId) == [1, 2, 0])
    #expect(pagings.map(\.pages.ids) == [[], [1], [1, 2]])
    #expect(pagings.map(\.request) == [.initialPage, .nextPage(2), .previousPage(0)])
  }

  @Test func allPagesStartAtTheFirstLoadedPageWithThoseFetchedSoFar() async throws {
    let store = PagesQuery(self.source).store()
    try await store.load(2)
    try await store.fetchPreviousPage()
    try await store.fetch()
    let pagings = self.source.pagings.dropFirst(3)
    #expect(pagings.map(\.pageId) == [0, 1, 2])
    #expect(pagings.map(\.pages.ids) == [[], [0], [0, 1]])
    #expect(pagings.allSatisfy { $0.request == .allPages })
  }

  @Test func withoutAStoreTheInitialPageIsFetchedWithNoPages() async throws {
    let query = PagesQuery(self.source)
    let value = try await query.fetch(
      in: QueryContext(),
      with: QueryContinuation { _, _ in }
    )
    #expect(value.fetchValue == .initialPage(TestPage(id: 1, value: 10)))
    #expect(self.source.pagings.map(\.pages.count) == [0])
  }

  @Test func withoutAStoreTheInitialPageIsFetchedWhateverTheContextWasFor() async throws {
    let contexts = Recorder<QueryContext>()
    do {
      let store = PagesQuery { call in
        contexts.append(call.context)
        return call.id * 10
      }
      .store()
      try await store.load(1)
      try await store.fetchAllPages()
    }
    let context = try #require(contexts.elements.last)
    #expect(context.currentFetchingQueryStore == nil)
    let value = try await PagesQuery(self.source).fetch(
      in: context,
      with: QueryContinuation { _, _ in }
    )
    #expect(value.fetchValue == .initialPage(TestPage(id: 1, value: 10)))
  }

  // MARK: - Page identifiers

  @Test func theQuestionsForTheIdentifiersOfASinglePage() async throws {
    let store = PagesQuery(self.source).store()
    try await store.load(2)
    try await store.fetchPreviousPage()
    let after = self.source.questionsAfter.elements
    let before = self.source.questionsBefore.elements
    #expect(after.map(\.page.id) == [1, 2, 2])
    #expect(before.map(\.page.id) == [1, 1, 0])
    #expect(after.map(\.paging) == self.source.pagings)
    #expect(before.map(\.paging) == self.source.pagings)
  }

  @Test func theQuestionsForTheIdentifiersOfAllPages() async throws {
    let store = PagesQuery(self.source).store(1...3)
    try await store.fetch()
    let after = self.source.questionsAfter.elements
    #expect(after.map(\.page.id) == [1, 2, 3])
    #expect(after.map(\.paging.pageId) == [1, 2, 3])
    #expect(after.map(\.paging.pages.ids) == [[1], [1, 2], [1, 2, 3]])
    let before = self.source.questionsBefore.elements
    #expect(before.map(\.page.id) == [1])
    #expect(before.map(\.paging.pages.ids) == [[1, 2, 3]])
    #expect(store.state.nextPageId == 4)
    #expect(store.state.previousPageId == 0)
  }

  @Test func theIdentifiersOfNoPagesAreNil() async throws {
    let store = PagesQuery(self.source).store()
    try await store.fetchAllPages()
    #expect(store.state.nextPageId == nil)
    #expect(store.state.previousPageId == nil)
  }

  /// As at the end of a server that repeats its last cursor.
  @Test(.timeLimit(.minutes(1))) func aPageThatNamesItselfIsTheLastOne() async throws {
    let store = PagesQuery(self.source).store()
    self.source.setPage(after: 2, to: 2)
    try await store.fetchNextPage()
    while store.hasNextPage { try await store.fetchNextPage() }
    #expect(self.source.ids == [1, 2])
    #expect(store.nextPageId == nil)
    #expect(try await store.fetchNextPage() == nil)
    try await store.fetchAllPages()
    #expect(!store.hasNextPage)
    #expect(store.ids == [1, 2])
  }

  // MARK: - All pages

  /// How a refetch of three pages ends that has yielded a page.
  enum RefetchEnd: CaseIterable, Sendable {
    case atOnce, atTheNextPage, cancelled, cancelledInTheStore
  }

  /// The short list is shown while the refetch runs.
  @Test(arguments: RefetchEnd.allCases)
  func aRefetchThatYieldsAndFailsLeavesTheList(_ end: RefetchEnd) async throws {
    let storage = MemoryQueryStorage()
    var context = QueryContext()
    context.queryStorage = storage
    let clock = TestClock()
    context.queryClock = clock
    let gate = Gate()
    let query = PagesQuery { call in
      if call.index < 3 { return call.id * 10 }
      if call.id == 2 { throw TestError() }
      call.continuation.yield(-1)
      switch end {
      case .atOnce: throw TestError()
      case .atTheNextPage: return 100
      case .cancelled, .cancelledInTheStore:
        try await gate.pass()
        return 100
      }
    }
    .persisted()
    let store = QueryStore.detached(query: query, initialContext: context)
    try await store.load(3)
    store.invalidate()
    let date = clock.now()
    clock.advance(by: 60)
    let lists = Recorder<[Int]>()
    let handler = InfiniteQueryEventHandler<Int, Int>(
      onStateChanged: { state, _ in lists.append(state.currentValue.map(\.value)) })
    let refetch = Task { try await store.fetchAllPages(handler: handler) }
    if end == .cancelled || end == .cancelledInTheStore {
      await gate.arrival()
      if end == .cancelled { refetch.cancel() } else { store.cancelFetches() }
    }
    await #expect(throws: (any Error).self) { try await refetch.value }
    #expect(lists.elements.contains([-1]))
    #expect(store.currentValue.map(\.value) == [10, 20, 30])
    #expect(store.nextPageId == 4)
    #expect(store.valueLastUpdatedAt == date)
    #expect(store.state.isInvalidated)
    try await storage.flush()
    let next = QueryStore.detached(query: query, initialContext: context)
    await next.hydrated()
    #expect(next.currentValue.map(\.value) == [10, 20, 30])
  }

  /// One that began and has yielded before does not make the list its first page.
  @Test(arguments: [true, false])
  func aRefetchBesideOneThatHasYieldedIsOfTheWholeList(firstFails: Bool) async throws {
    let gate = Gate()
    let store = PagesQuery { call in
      if call.index != 3 { return call.id * 10 }
      call.continuation.yield(-1)
      try await gate.pass()
      if firstFails { throw TestError() }
      return 10
    }
    .store()
    try await store.load(3)
    let first = Task { try await store.fetchAllPages() }
    await gate.arrival()
    #expect(store.ids == [1])
    #expect(try await store.fetchAllPages().ids == [1, 2, 3])
    #expect(store.ids == [1, 2, 3])
    gate.open()
    _ = await first.result
    #expect(store.ids == [1, 2, 3])
    #expect(store.nextPageId == 4)
  }

  /// What came after the yield stays.
  @Test func aListThatWasSetWhileARefetchFailsStays() async throws {
    let gate = Gate()
    let store = PagesQuery { call in
      if call.index < 3 { return call.id * 10 }
      call.continuation.yield(-1)
      try await gate.pass()
      throw TestError()
    }
    .store()
    try await store.load(3)
    async let refetch: Void? = try? { _ = try await store.fetchAllPages() }()
    await gate.arrival()
    store.currentValue = testPages(7...8)
    gate.open()
    await refetch
    #expect(store.ids == [7, 8])
  }

  @Test func allPagesStopWhereNoPageFollows() async throws {
    let store = PagesQuery(self.source).store(1...4)
    self.source.setPage(after: 2, to: nil)
    let pages = try await store.fetchAllPages()
    #expect(pages.ids == [1, 2])
    #expect(store.ids == [1, 2])
    #expect(self.source.ids == [1, 2])
    #expect(!store.state.hasNextPage)
  }

  @Test func allPagesFollowTheNewIdentifiers() async throws {
    let store = PagesQuery(self.source).store(1...3)
    self.source.setPage(after: 1, to: 7)
    try await store.fetchAllPages()
    #expect(store.ids == [1, 7, 8])
    #expect(store.state.nextPageId == 9)
  }

  @Test func allPagesAreAsManyAsWereLoaded() async throws {
    let store = PagesQuery(self.source).store(1...3)
    try await store.fetchAllPages()
    #expect(self.source.ids == [1, 2, 3])
    #expect(store.state.nextPageId == 4)
  }

  @Test(.timeLimit(.minutes(10)), arguments: [1, 2, 3])
  func pagesThatFollowInACircleAreFetchedOnce(first: Int) async throws {
    let store = PagesQuery(self.source).store(1...3)
    self.source.setPage(after: 3, to: first)
    self.source.setPage(after: first, to: first)
    try await store.fetchAllPages()
    #expect(self.source.ids == Array(1...first))
    #expect(store.ids == Array(1...first))
  }

  @Test func allPagesStopWithThePageAtWhichTheyAreCancelled() async {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.id == 2 { await gate.passIgnoringCancellation() }
      return call.id * 10
    }
    .store(1...4)
    let fetch = Task { try await store.fetchAllPages() }
    await gate.arrival()
    fetch.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(self.source.ids == [1, 2])
  }

  // MARK: - Retries

  @Test func anAttemptThatIsOverdueFetchesNoPageAfterTheOneInHand() async throws {
    let (gate, cancelled, ends) = (Gate(), Recorder<Int>(), Recorder<Bool>())
    let query = PagesQuery(self.source) { call in
      if call.index == 1 {
        await withTaskCancellationHandler {
          await gate.passIgnoringCancellation()
        } onCancel: {
          cancelled.append(call.id)
        }
      }
      return call.id * 10
    }
    .modifier(RecordingEnds(ends: ends))
    .timeout(after: .seconds(10)).retry(limit: 1).delayer(.noDelay)
    let clock = MockQueryClock()
    var context = QueryContext()
    context.queryClock = clock
    let store = QueryStore.detached(
      query: query, initialValue: testPages(1...3), initialContext: context)
    let fetch = Task { try await store.fetchAllPages() }
    await gate.arrival()
    await clock.sleeper(within: .seconds(10))
    clock.advance(by: .seconds(10))
    #expect(try await fetch.value.ids == [1, 2, 3])
    await cancelled.wait(forCount: 1)
    gate.open()
    await ends.wait(forCount: 2)
    // Page 2 was in hand; the attempt after it went on from there.
    #expect(self.source.ids == [1, 2, 2, 3])
  }

  @Test func aRetryOfAllPagesGoesOnAfterTheLastGoodPage() async throws {
    let failures = Counter()
    let query = PagesQuery(self.source) { call in
      if case .allPages = call.paging.request, call.id == 3, failures.increment() < 4 {
        throw TestError("\(failures.value)")
      }
      return call.id * 10
    }
    .retry(limit: 3).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: testPages(1...3))
    let events = EventCollector<TestPagesState>()
    try await store.fetchAllPages(handler: events.infiniteHandler())
    #expect(self.source.ids == [1, 2, 3, 3, 3, 3])
    #expect(self.source.pagings.map(\.pages.ids) == [[], [1], [1, 2], [1, 2], [1, 2], [1, 2]])
    #expect(store.ids == [1, 2, 3])
    #expect(store.errorUpdateCount == 0)
    #expect(store.valueUpdateCount == 1)
    #expect(events.events.count { $0 == .stateChanged } == 2)
    #expect(events.events.count { $0 == .pageStarted("3") } == 4)
    #expect(events.events.count { $0 == .pageEnded("3") } == 4)
  }

  @Test func aModifierThatFetchesTwiceFetchesAllPagesTwice() async throws {
    let query = PagesQuery(self.source).modifier(FetchingTwice())
    let store = QueryStore.detached(query: query, initialValue: testPages(1...3))
    try await store.fetchAllPages()
    #expect(self.source.ids == [1, 2, 3, 1, 2, 3])
    #expect(store.ids == [1, 2, 3])
  }

  @Test func aRetryThatStaysBadEndsWithTheLastError() async throws {
    let query = PagesQuery(self.source) { call in
      if call.id == 2 { throw TestError("\(call.context.retryIndex)") }
      return call.id * 10
    }
    .retry(limit: 2).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: testPages(1...2))
    await #expect(throws: TestError("2")) { try await store.fetchAllPages() }
    #expect(self.source.ids == [1, 2, 2, 2])
    #expect(store.ids == [1, 2])
    // The next call starts over.
    await #expect(throws: TestError("2")) { try await store.fetchAllPages() }
    #expect(self.source.ids == [1, 2, 2, 2, 1, 2, 2, 2])
  }

  @Test func aRetryOfAPlainFetchGoesOnWhereItBecameAllPagesOnlyWhenItStarted() async throws {
    let failures = Counter()
    let query = PagesQuery(self.source) { call in
      if call.id == 3, failures.increment() == 1 { throw TestError() }
      return call.id * 10
    }
    .retry(limit: 1).delayer(.noDelay)
    let store = QueryStore.detached(query: query)
    let task = store.fetchTask()
    store.currentValue = testPages(1...3)
    try await task.runIfNeeded()
    #expect(self.source.ids == [1, 2, 3, 3])
    #expect(store.ids == [1, 2, 3])
  }

  @Test func aRetryCountsThePagesOfItsFirstAttempt() async throws {
    let gate = Gate()
    let query = PagesQuery(self.source) { call in
      if call.index == 1 {
        try await gate.pass()
        throw TestError()
      }
      return call.id * 10
    }
    .retry(limit: 1).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: testPages(1...3))
    async let pages = store.fetchAllPages()
    await gate.arrival()
    store.currentValue = testPages(1...5)
    gate.open()
    #expect(try await pages.ids == [1, 2, 3])
    #expect(self.source.ids == [1, 2, 2, 3])
  }

  // MARK: - Decided when it starts

  @Test func aNextPageThatWaitedForTheInitialOneIsTheNextPage() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.index == 0 { try await gate.pass() }
      return call.id * 10
    }
    .store()
    async let initial = store.fetch()
    await gate.arrival()
    let task = store.fetchNextPageTask()
    #expect(store.initialPageActiveTasks.count == 2)
    async let next = task.runIfNeeded()
    gate.open()
    #expect(try await next?.id == 2)
    #expect(try await initial.fetchValue == .initialPage(TestPage(id: 1, value: 10)))
    #expect(self.source.pagings.map(\.request) == [.initialPage, .nextPage(2)])
    #expect(store.ids == [1, 2])
  }

  @Test func aNextPageWithNoPageLeftWhenItStartsReturnsNil() async throws {
    let source = PageSource(1...2)
    let store = PagesQuery(source).store()
    try await store.load(1)
    let first = store.fetchNextPageTask()
    let second = store.fetchNextPageTask()
    #expect(try await first.runIfNeeded()?.id == 2)
    let date = store.valueLastUpdatedAt
    let events = EventCollector<TestPagesState>()
    let subscription = store.subscribe(with: events.infiniteHandler())
    #expect(try await second.runIfNeeded() == nil)
    subscription.cancel()
    #expect(source.ids == [1, 2])
    #expect(store.ids == [1, 2])
    #expect(store.valueUpdateCount == 2)
    #expect(store.valueLastUpdatedAt == date)
    #expect(!store.isLoading)
    #expect(
      events.events == [
        .stateChanged, .fetchingStarted, .returned("[10, 20]"), .stateChanged, .fetchingEnded,
      ]
    )
  }

  @Test func aPreviousPageWithNoPageLeftWhenItStartsReturnsNil() async throws {
    let source = PageSource(0...9)
    let store = PagesQuery(source).store()
    try await store.load(1)
    let first = store.fetchPreviousPageTask()
    let second = store.fetchPreviousPageTask()
    #expect(try await first.runIfNeeded()?.id == 0)
    #expect(try await second.runIfNeeded() == nil)
    #expect(store.ids == [0, 1])
    #expect(!store.state.hasPreviousPage)
  }

  @Test func aNextPageWhosePagesWentIsTheInitialOne() async throws {
    let store = PagesQuery(self.source).store()
    try await store.load(2)
    let task = store.fetchNextPageTask()
    store.currentValue = []
    #expect(try await task.runIfNeeded()?.id == 1)
    #expect(self.source.ids == [1, 2, 1])
    #expect(store.ids == [1])
  }

  @Test func aPlainFetchThatWasScheduledForTheInitialPageFetchesAllWhereThereAreSome() async throws
  {
    let store = PagesQuery(self.source).store()
    let task = store.fetchTask()
    #expect(store.state.isLoadingInitialPage)
    store.currentValue = testPages(1...2)
    let value = try await task.runIfNeeded()
    #expect(value.fetchValue == .allPages(testPages(1...2)))
    #expect(!store.isLoading)
  }
}

struct FetchingTwice<Query: QueryRequest>: QueryModifier {
  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    _ = try await query.fetch(in: context, with: continuation)
    return try await query.fetch(in: context, with: continuation)
  }
}

/// Records when a fetch of the request is over, and whether it was cancelled.
private struct RecordingEnds<Query: QueryRequest>: QueryModifier {
  let ends: Recorder<Bool>

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    defer { self.ends.append(Task.isCancelled) }
    return try await query.fetch(in: context, with: continuation)
  }
}
