import Dispatch
import TestSupport
import Testing

@testable import Query

@MainActor @Suite(.warningsAreIssues) struct InfiniteQueryDeduplicationTests {
  private let source = PageSource()
  private let gate = Gate()

  /// A store with the initial page, whose later fetches all wait at the gate.
  private func loadedStore() async throws -> QueryStore<TestPagesState> {
    let query = PagesQuery(self.source) { [gate] call in
      if call.index > 0 { try await gate.pass() }
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.deduplicated())
    try await store.fetch()
    return store
  }

  /// Starts a fetch on the main actor, and returns when it has joined, or is at the gate.
  private func start<Value: Sendable>(
    on store: QueryStore<TestPagesState>,
    _ fetch: @escaping @Sendable (InfiniteQueryEventHandler<Int, Int>) async throws -> Value
  ) async -> Task<Value, any Error> {
    let events = EventCollector<TestPagesState>()
    let task = Task { @MainActor in try await fetch(events.infiniteHandler()) }
    await events.wait(for: .fetchingStarted)
    return task
  }

  @Test func equalPagesShareOneFetchAndBothReturnThePage() async throws {
    let store = try await self.loadedStore()
    let first = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    await self.gate.arrival()
    let second = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    self.gate.open()
    #expect(try await (first.value?.id, second.value?.id) == (2, 2))
    #expect(self.source.ids == [1, 2])
    #expect(store.ids == [1, 2])
    #expect(store.valueUpdateCount == 3)
  }

  /// The end of a list comes into view twice, and the main thread is busy until the page is there.
  @Test func aCallThatBeginsWhenItsPageHasComeBringsThatPage() async throws {
    let store = try await self.loadedStore()
    let ended = DispatchSemaphore(value: 0)
    let handler = InfiniteQueryEventHandler<Int, Int>(onFetchingEnded: { _ in ended.signal() })
    let first = Task.detached { try await store.fetchNextPage(handler: handler) }
    await self.gate.arrival()
    func keepTheMainThreadBusy() {
      self.gate.open()
      ended.wait()
    }
    let second = Task { @MainActor in try await store.fetchNextPage() }
    let busy = Task { @MainActor in keepTheMainThreadBusy() }
    #expect(try await (first.value?.id, second.value?.id) == (2, 2))
    await busy.value
    #expect(self.source.ids == [1, 2])
    #expect(store.ids == [1, 2])
    // A later call is for the page after it.
    #expect(try await store.fetchNextPage()?.id == 3)
  }

  /// A fetch decides when it starts that it is for all pages, and waits for the page that is at work. That one
  /// ends when a reset has taken both, and has told neither of it yet.
  @Test func whatWaitedForAPageIsNotRequestedBehindAReset() async throws {
    let store = try await self.loadedStore()
    let executor = HeldExecutor()
    let configuration = QueryTaskConfiguration(executorPreference: executor)
    let page = Task { @concurrent in try await store.fetchNextPage(using: configuration) }
    await self.gate.arrival()
    await executor.idle()
    let list = store.currentValue
    store.currentValue = []
    executor.hold()
    let jobCount = executor.jobCount
    let refetch = Task { @concurrent in try await store.fetch(using: configuration) }
    while executor.jobCount == jobCount { await Task.yield() }
    store.currentValue = list
    executor.release()
    await executor.idle()
    let ends = store.takeReset(using: nil)
    self.gate.open()
    await executor.idle()
    #expect(self.source.ids == [1, 2])
    for end in ends { end() }
    await #expect(throws: CancellationError.self) { try await page.value }
    await #expect(throws: CancellationError.self) { try await refetch.value }
    #expect(self.source.ids == [1, 2])
    #expect(store.ids.isEmpty)
  }

  @Test func allPagesAndAPlainFetchShare() async throws {
    let store = try await self.loadedStore()
    let all = await self.start(on: store) { try await store.fetchAllPages(handler: $0) }
    await self.gate.arrival()
    let plain = store.fetchInTask()
    await store.waitForState { $0.allPagesActiveTasks.count == 2 }
    self.gate.open()
    #expect(try await all.value.ids == [1])
    #expect(try await plain.value.fetchValue == .allPages(testPages(1...1)))
    #expect(self.source.ids == [1, 1])
  }

  /// What they would share has ended before that page came, and lacks it.
  @Test(arguments: [true, false])
  func allPagesThatWaitForAPageAreFetchedWithIt(isNext: Bool) async throws {
    let store = try await self.loadedStore()
    let all = await self.start(on: store) { try await store.fetchAllPages(handler: $0) }
    await self.gate.arrival()
    let page = Task { @MainActor in
      try await isNext ? store.fetchNextPage() : store.fetchPreviousPage()
    }
    await store.waitForState {
      $0.nextPageActiveTasks.count + $0.previousPageActiveTasks.count == 1
    }
    let allWithPage = Task { @MainActor in try await store.fetchAllPages() }
    await store.waitForState { $0.allPagesActiveTasks.count == 2 }
    self.gate.letOneThrough()
    #expect(try await all.value.ids == [1])
    await self.gate.arrival(2)
    self.gate.open()
    #expect(try await page.value?.id == (isNext ? 2 : 0))
    let ids = isNext ? [1, 2] : [0, 1]
    #expect(try await allWithPage.value.ids == ids)
    #expect(store.ids == ids)
    #expect(self.source.ids == (isNext ? [1, 1, 2, 1, 2] : [1, 1, 0, 0, 1]))
  }

  /// It waits for the refetch, and may be for another page than the first one when that has ended.
  @Test func aPlainFetchOfAnEmptiedListSharesNoPageThatWaits() async throws {
    let store = try await self.loadedStore()
    let all = await self.start(on: store) { try await store.fetchAllPages(handler: $0) }
    await self.gate.arrival()
    store.currentValue = []
    let page = Task { @MainActor in try await store.fetchNextPage() }
    await store.waitForState { $0.initialPageActiveTasks.count == 1 }
    let plain = store.fetchInTask()
    await store.waitForState { $0.initialPageActiveTasks.count == 2 }
    self.gate.open()
    _ = try await (all.value, page.value)
    switch try await plain.value.fetchValue {
    case .allPages, .initialPage: break
    case .nextPage, .previousPage: Issue.record("a plain fetch brought a page beside others")
    }
  }

  @Test func nextAndPreviousPagesDoNotShare() async throws {
    let store = try await self.loadedStore()
    let next = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    let previous = await self.start(on: store) { try await store.fetchPreviousPage(handler: $0) }
    await self.gate.arrival(2)
    self.gate.open()
    #expect(try await (next.value?.id, previous.value?.id) == (2, 0))
    #expect(store.ids == [0, 1, 2])
  }

  @Test func aPageThatIsNotThereSharesNothing() async throws {
    let source = self.source
    let gate = self.gate
    let query = PagesQuery(source) { call in
      if call.id == 2 {
        source.setLimits(1...2)
        call.continuation.yield(21)
        try await gate.pass()
      }
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.deduplicated())
    try await store.fetch()
    let previous = store.fetchPreviousPageTask()
    let next = Task { try await store.fetchNextPage() }
    await gate.arrival()
    // Neither has a page left now, but they are not the same work.
    #expect(!store.state.hasNextPage && !store.state.hasPreviousPage)
    #expect(try await previous.runIfNeeded() == nil)
    gate.open()
    #expect(try await next.value?.id == 2)
  }

  @Test func equalPagesOfAnEmptyListShareTheInitialPage() async throws {
    let gate = self.gate
    let query = PagesQuery(self.source) { call in
      try await gate.pass()
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.deduplicated())
    let calls = [0, 1].map { _ in Task { @MainActor in try await store.fetchNextPage() } }
    await store.waitForState { $0.initialPageActiveTasks.count == 2 }
    gate.open()
    for call in calls { #expect(try await call.value?.id == 1) }
    #expect(self.source.ids == [1])
    #expect(store.ids == [1])
  }

  @Test func aPageThatIsYieldedIsNotThePageAfterIt() async throws {
    let gate = self.gate
    let query = PagesQuery(self.source) { call in
      if call.id == 2 {
        call.continuation.yield(21)
        try await gate.pass()
      }
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.deduplicated())
    try await store.load(1)
    let first = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    await gate.arrival()
    #expect(store.ids == [1, 2])
    let second = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    gate.open()
    #expect(try await (first.value?.id, second.value?.id) == (2, 3))
    #expect(self.source.ids == [1, 2, 3])
    #expect(store.ids == [1, 2, 3])
    #expect(store.state.nextPageId == 4)
  }

  @Test func aPageOfAListThatWasEmptiedIsNotTheInitialPage() async throws {
    let store = try await self.loadedStore()
    let first = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    await self.gate.arrival()
    store.currentValue = []
    let second = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    self.gate.open()
    #expect(try await (first.value?.id, second.value?.id) == (2, 1))
    #expect(store.ids == [1])
    #expect(store.state.nextPageId == 2)
  }

  @Test func theEventsOfAPageGoOnWhenItsFirstCallerHasLeft() async throws {
    let store = try await self.loadedStore()
    let events = EventCollector<TestPagesState>()
    let subscription = store.subscribe(with: events.infiniteHandler())
    let first = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    await self.gate.arrival()
    let second = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    self.gate.open()
    #expect(try await second.value?.id == 2)
    #expect(
      events.events.filter { $0 != .stateChanged } == [
        .fetchingStarted, .pageStarted("2"), .fetchingStarted, .returned("CancellationError()"),
        .fetchingEnded, .pageReturned("2", "20"), .pageEnded("2"), .returned("[10, 20]"),
        .fetchingEnded,
      ]
    )
    subscription.cancel()
  }

  @Test func aPageThatAllCallersHaveLeftEndsWithoutAResult() async throws {
    let gate = self.gate
    let query = PagesQuery(self.source) { call in
      if call.index > 0 { await gate.passIgnoringCancellation() }
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.deduplicated())
    try await store.fetch()
    let events = EventCollector<TestPagesState>()
    let subscription = store.subscribe(with: events.infiniteHandler())
    let only = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    await self.gate.arrival()
    only.cancel()
    await #expect(throws: CancellationError.self) { try await only.value }
    gate.open()
    await events.wait(for: .pageEnded("2"))
    #expect(
      events.events.filter { $0 != .stateChanged } == [
        .fetchingStarted, .pageStarted("2"), .returned("CancellationError()"), .fetchingEnded,
        .pageEnded("2"),
      ]
    )
    subscription.cancel()
  }

  @Test func theFirstThatLeavesLeavesThePageToTheOther() async throws {
    let store = try await self.loadedStore()
    let first = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    await self.gate.arrival()
    let second = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    self.gate.open()
    #expect(try await second.value?.id == 2)
    #expect(store.ids == [1, 2])
    #expect(store.state.error == nil)
    #expect(self.source.ids == [1, 2])
  }
}
