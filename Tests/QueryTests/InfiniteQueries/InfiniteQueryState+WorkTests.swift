import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct InfiniteQueryStateWorkTests {
  private let source = PageSource()
  private let events = EventCollector<TestPagesState>()

  /// A store whose fetches of some pages stop at a gate.
  private func store(
    _ gate: Gate,
    at isStopped: @escaping @Sendable (PagesQuery.Call) -> Bool
  ) -> QueryStore<TestPagesState> {
    PagesQuery(self.source) { call in
      if isStopped(call) { try await gate.pass() }
      return call.id * 10
    }
    .store()
  }

  @Test func aPlainFetchScheduledOnTheEmptyListWaitsForAPageUnderWay() async throws {
    let gate = Gate()
    let store = self.store(gate) { $0.paging.request == .previousPage(0) }
    let next = store.fetchNextPageTask()
    let previous = store.fetchPreviousPageTask()
    let plain = store.fetchTask()
    #expect(try await next.runIfNeeded()?.id == 1)
    let under = Task { try await previous.runIfNeeded() }
    await gate.arrival()
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    let all = Task { try await plain.runIfNeeded() }
    await self.events.wait(for: .fetchingStarted)
    gate.open()
    #expect(try await under.value?.id == 0)
    _ = try await all.value
    #expect(
      self.source.pagings.map(\.request) == [
        .initialPage, .previousPage(0), .allPages, .allPages,
      ]
    )
    #expect(store.ids == [0, 1])
    #expect(store.state.previousPageId == -1 && store.state.nextPageId == 2)
    subscription.cancel()
  }

  @Test func aPageWaitsForAPlainFetchOfTheInitialPageThatWasScheduledLater() async throws {
    let gate = Gate()
    let store = self.store(gate) { $0.index == 0 }
    let next = store.fetchNextPageTask()
    let previous = store.fetchPreviousPageTask()
    let plain = store.fetchTask()
    let initial = Task { try await plain.runIfNeeded() }
    await gate.arrival()
    #expect(try await next.runIfNeeded()?.id == 1)
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    let page = Task { try await previous.runIfNeeded() }
    await self.events.wait(for: .fetchingStarted)
    gate.open()
    _ = try await initial.value
    #expect(try await page.value?.id == 0)
    #expect(
      self.source.pagings.map(\.request) == [.initialPage, .initialPage, .previousPage(0)]
    )
    #expect(store.ids == [0, 1])
    subscription.cancel()
  }

  @Test func aFetchIsCancelledWhileItWaits() async throws {
    let gate = Gate()
    let store = self.store(gate) { $0.paging.request == .previousPage(0) }
    let next = store.fetchNextPageTask()
    let previous = store.fetchPreviousPageTask()
    let plain = store.fetchTask()
    try await next.runIfNeeded()
    let page = Task { try await previous.runIfNeeded() }
    await gate.arrival()
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    let all = Task { try await plain.runIfNeeded() }
    await self.events.wait(for: .fetchingStarted)
    all.cancel()
    await #expect(throws: CancellationError.self) { try await all.value }
    #expect(self.source.pagings.map(\.request) == [.initialPage, .previousPage(0)])
    gate.open()
    #expect(try await page.value?.id == 0)
    #expect(store.ids == [0, 1])
    subscription.cancel()
  }

  @Test func equalCallsOnTheEmptyListFetchTheInitialPageSideBySide() async throws {
    let gate = Gate()
    let store = self.store(gate) { _ in true }
    let tasks = [store.fetchNextPageTask(), store.fetchNextPageTask()]
    let pages = tasks.map { task in Task { try await task.runIfNeeded() } }
    await gate.arrival(2)
    gate.open()
    for page in pages { #expect(try await page.value?.id == 1) }
    #expect(store.ids == [1])
    #expect(store.state.nextPageId == 2)
  }

  @Test @MainActor func workThatOthersShareIsWaitedForWhenItsFirstCallerHasLeft() async throws {
    let gate = Gate()
    let query = PagesQuery(self.source) { call in
      if call.paging.request == .previousPage(0) { try await gate.pass() }
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.deduplicated())
    let next = store.fetchNextPageTask()
    let previous = [store.fetchPreviousPageTask(), store.fetchPreviousPageTask()]
    let plain = store.fetchTask()
    try await next.runIfNeeded()
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    let first = Task { try await previous[0].runIfNeeded() }
    await gate.arrival()
    let second = Task { try await previous[1].runIfNeeded() }
    await self.events.wait(for: .fetchingStarted, count: 2)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    let all = Task { try await plain.runIfNeeded() }
    await self.events.wait(for: .fetchingStarted, count: 3)
    gate.open()
    #expect(try await second.value?.id == 0)
    _ = try await all.value
    #expect(
      self.source.pagings.map(\.request) == [
        .initialPage, .previousPage(0), .allPages, .allPages,
      ]
    )
    #expect(store.ids == [0, 1])
    subscription.cancel()
  }
}
