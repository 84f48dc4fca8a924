import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct InfiniteQueryStateTests {
  private let source = PageSource()

  // MARK: - Fresh

  @Test func aFreshState() {
    let state = TestPagesState(initialValue: [], initialPageId: 4)
    #expect(state.initialPageId == 4)
    #expect(state.currentValue.isEmpty && state.initialValue.isEmpty)
    #expect(state.nextPageId == nil && state.previousPageId == nil)
    #expect(state.hasNextPage && state.hasPreviousPage)
    #expect(!state.isLoading)
    #expect(state.status.isIdle)
    #expect(state.valueUpdateCount == 0 && state.errorUpdateCount == 0)
    #expect(state.valueLastUpdatedAt == nil && state.errorLastUpdatedAt == nil)
    #expect(state.error == nil)
  }

  @Test func aStateSeededWithPagesHasNoNextPageUntilSomethingIsFetched() async throws {
    let store = PagesQuery(self.source).store(1...2)
    #expect(!store.state.hasNextPage && !store.state.hasPreviousPage)
    #expect(try await store.fetchNextPage() == nil)
    #expect(try await store.fetchPreviousPage() == nil)
    #expect(self.source.ids.isEmpty)
    try await store.fetch()
    #expect(store.state.nextPageId == 3 && store.state.previousPageId == 0)
    #expect(try await store.fetchNextPage()?.id == 3)
  }

  @Test func whatAStateIsSeededWithIsNotWritten() async throws {
    let store = PagesQuery(self.source).store(1...2)
    #expect(store.state.persistedValue == nil)
    store.setResult(to: .failure(TestError()))
    #expect(store.state.persistedValue == nil)
    try await store.fetch()
    #expect(store.state.persistedValue != nil)
  }

  @Test func theEndsOfTheListHaveNoNextOrPreviousPage() async throws {
    let store = PagesQuery(PageSource(1...2)).store()
    try await store.load(1)
    #expect(store.state.hasNextPage && !store.state.hasPreviousPage)
    try await store.load(1)
    #expect(!store.state.hasNextPage && !store.state.hasPreviousPage)
    #expect(store.state.status.resultValue == testPages(1...2))
  }

  // MARK: - Scheduling

  @Test func theKindsOfLoading() async throws {
    let store = PagesQuery(self.source).store()
    let initial = store.fetchTask()
    #expect(store.state.isLoadingInitialPage && store.isLoading)
    let all = store.fetchAllPagesTask()
    #expect(store.state.isLoadingAllPages)
    initial.cancel()
    all.cancel()
    #expect(!store.isLoading)
    try await store.load(1)
    let next = store.fetchNextPageTask()
    #expect(store.state.isLoadingNextPage && !store.state.isLoadingPreviousPage)
    let previous = store.fetchPreviousPageTask()
    #expect(store.state.isLoadingPreviousPage && !store.state.isLoadingAllPages)
    #expect(!store.state.isLoadingInitialPage)
    #expect(store.nextPageActiveTasks.ids == [next.id])
    #expect(store.previousPageActiveTasks.ids == [previous.id])
    #expect(store.state.status.isLoading)
  }

  @Test func plainFetchesOfTheInitialPageOverlap() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      try await gate.pass()
      return call.id * 10 + call.index
    }
    .store()
    async let first = store.fetch()
    async let second = store.fetch()
    await gate.arrival(2)
    #expect(store.initialPageActiveTasks.count == 2)
    gate.open()
    _ = try await (first, second)
    #expect(store.ids == [1])
    #expect(store.valueUpdateCount == 2)
  }

  @Test func nextAndPreviousPagesDoNotWaitForOneAnother() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.index > 0 { try await gate.pass() }
      return call.id * 10
    }
    .store()
    try await store.load(1)
    async let next = store.fetchNextPage()
    async let previous = store.fetchPreviousPage()
    async let again = store.fetchNextPage()
    await gate.arrival(3)
    gate.open()
    #expect(try await (next?.id, previous?.id, again?.id) == (2, 0, 2))
    #expect(self.source.ids.sorted() == [0, 1, 2, 2])
    #expect(store.ids == [0, 1, 2])
  }

  @Test func nextAndPreviousPagesWaitForAllPages() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.paging.request == .allPages { try await gate.pass() }
      return call.id * 10
    }
    .store()
    try await store.load(1)
    async let all = store.fetchAllPages()
    await gate.arrival()
    self.source.setPage(after: 1, to: 5)
    async let next = store.fetchNextPage()
    await store.waitForState(where: { $0.isLoadingNextPage })
    async let previous = store.fetchPreviousPage()
    await store.waitForState(where: { $0.isLoadingPreviousPage })
    #expect(self.source.ids == [1, 1])
    gate.open()
    #expect(try await all.ids == [1])
    #expect(try await (next?.id, previous?.id) == (5, 0))
    #expect(store.ids == [0, 1, 5])
  }

  @Test func allPagesWaitForEveryOtherKindButNotForAllPages() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.index > 0 { try await gate.pass() }
      return call.id * 10
    }
    .store()
    try await store.load(1)
    async let next = store.fetchNextPage()
    async let previous = store.fetchPreviousPage()
    await gate.arrival(2)
    async let all = store.fetchAllPages()
    async let plain = store.fetch()
    await store.waitForState(where: { $0.allPagesActiveTasks.count == 2 })
    #expect(gate.arrivals == 2)
    gate.letOneThrough()
    gate.letOneThrough()
    _ = try await (next, previous)
    // Both are at their first page now.
    await gate.arrival(4)
    gate.open()
    #expect(try await all.ids == [0, 1, 2])
    _ = try await plain
    #expect(self.source.ids.count == 9)
  }

  @Test func allPagesWaitForTheInitialPage() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.index == 0 { try await gate.pass() }
      return call.id * 10
    }
    .store()
    async let initial = store.fetch()
    await gate.arrival()
    async let all = store.fetchAllPages()
    await store.waitForState(where: { $0.isLoadingAllPages })
    gate.open()
    #expect(try await all.ids == [1])
    _ = try await initial
    #expect(self.source.pagings.map(\.request) == [.initialPage, .allPages])
  }

  // MARK: - Merging

  @Test func anInitialPageOfAPlainFetchJoinsAListThatCameMeanwhile() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      try await gate.pass()
      return call.id * 10
    }
    .store()
    async let fetch = store.fetch()
    await gate.arrival()
    store.currentValue = testPages(5...6)
    gate.open()
    _ = try await fetch
    #expect(store.ids == [5, 6, 1])
    #expect(store.state.nextPageId == 2 && store.state.previousPageId == nil)
  }

  @Test func anInitialPageOfAnyOtherCallJoinsTheList() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      try await gate.pass()
      return call.id * 10 + 1
    }
    .store()
    async let fetch = store.fetchNextPage()
    await gate.arrival()
    store.currentValue = testPages([5: 50, 1: 10])
    gate.open()
    #expect(try await fetch?.id == 1)
    #expect(store.currentValue == testPages([5: 50, 1: 11]))
  }

  @Test func aPageThatIsThereIsReplacedInPlace() async throws {
    let store = PagesQuery(self.source) { $0.id * 10 + $0.index }.store()
    try await store.load(3)
    self.source.setPage(after: 3, to: 2)
    try await store.fetchAllPages()
    #expect(try await store.fetchNextPage()?.id == 2)
    #expect(store.ids == [1, 2, 3])
    #expect(store.currentValue[id: 2]?.value == 26)
  }

  @Test func pagesWhoseNeighbourVanishedLeaveTheListAndItsEndsButRenewTheRest() async throws {
    let gate = Gate()
    let clock = TestClock()
    let query = PagesQuery(self.source) { call in
      if call.index > 1 { try await gate.pass() }
      return call.id * 10
    }
    .clock(clock)
    let store = QueryStore.detached(query: query)
    try await store.load(2)
    async let next = store.fetchNextPage()
    await gate.arrival()
    store.currentValue = testPages(7...8)
    store.setResult(to: .failure(TestError()))
    clock.advance(by: 5)
    gate.open()
    #expect(try await next?.id == 3)
    #expect(store.ids == [7, 8])
    #expect(store.state.nextPageId == 3)
    #expect(store.state.previousPageId == 0)
    #expect(store.state.error == nil)
    #expect(store.valueUpdateCount == 4)
    #expect(store.valueLastUpdatedAt == clock.now())
  }

  @Test func previousPagesWhoseNeighbourVanishedLeaveTheList() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.index > 1 { try await gate.pass() }
      return call.id * 10
    }
    .store()
    try await store.load(2)
    async let previous = store.fetchPreviousPage()
    await gate.arrival()
    store.currentValue = testPages(2...3)
    gate.open()
    #expect(try await previous?.id == 0)
    #expect(store.ids == [2, 3])
    #expect(store.state.previousPageId == 0)
    #expect(store.state.nextPageId == 3)
  }

  @Test(arguments: [true, false])
  func theLaterOfTwoOverlappingPagesLeavesTheOtherEndAsItIs(isNextFirst: Bool) async throws {
    let (nextGate, previousGate) = (Gate(), Gate())
    let store = PagesQuery(self.source) { call in
      switch call.paging.request {
      case .nextPage: try await nextGate.pass()
      case .previousPage: try await previousGate.pass()
      default: break
      }
      return call.id * 10
    }
    .store()
    try await store.load(1)
    let next = Task { try await store.fetchNextPage() }
    let previous = Task { try await store.fetchPreviousPage() }
    await nextGate.arrival()
    await previousGate.arrival()
    (isNextFirst ? nextGate : previousGate).open()
    _ = try await (isNextFirst ? next : previous).value
    (isNextFirst ? previousGate : nextGate).open()
    _ = try await (next.value, previous.value)
    #expect(store.ids == [0, 1, 2])
    #expect(store.state.nextPageId == 3)
    #expect(store.state.previousPageId == -1)
  }

  @Test func aPageThatComesLateDoesNotMoveTheEndBack() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.index == 1 { try await gate.pass() }
      return call.id * 10
    }
    .store()
    try await store.load(1)
    let late = Task { try await store.fetchNextPage() }
    await gate.arrival()
    #expect(try await store.fetchNextPage()?.id == 2)
    #expect(try await store.fetchNextPage()?.id == 3)
    gate.open()
    #expect(try await late.value?.id == 2)
    #expect(store.ids == [1, 2, 3])
    #expect(store.state.nextPageId == 4)
  }

  @Test func allPagesKeepPagesThatCameBehindTheLastOneMeanwhile() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.paging.request == .allPages { try await gate.pass() }
      return call.id * 10 + call.index
    }
    .store()
    try await store.load(2)
    async let all = store.fetchAllPages()
    await gate.arrival()
    store.currentValue = testPages([0: 0, 1: 10, 2: 20, 7: 70])
    gate.open()
    #expect(try await all.ids == [1, 2])
    #expect(store.currentValue == testPages([1: 12, 2: 23, 7: 70]))
    #expect(store.state.nextPageId == 3 && store.state.previousPageId == 0)
  }

  @Test func allPagesOfAListThatBecameShorterKeepNone() async throws {
    let source = self.source
    let gate = Gate()
    let store = PagesQuery(source) { call in
      if call.paging.request == .allPages { try await gate.pass() }
      return call.id * 10
    }
    .store()
    try await store.load(3)
    async let all = store.fetchAllPages()
    await gate.arrival()
    source.setPage(after: 2, to: nil)
    gate.open()
    #expect(try await all.ids == [1, 2])
    #expect(store.ids == [1, 2])
  }

  @Test func pagesAreInsertedBesideTheirNeighbourWhereverItIsNow() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.index > 0 { try await gate.pass() }
      return call.id * 10
    }
    .store()
    try await store.load(1)
    async let next = store.fetchNextPage()
    async let previous = store.fetchPreviousPage()
    await gate.arrival(2)
    store.currentValue = testPages([7: 70, 1: 10, 8: 80])
    gate.open()
    _ = try await (next, previous)
    #expect(store.ids == [7, 0, 1, 2, 8])
  }

  // MARK: - Manual updates and errors

  @Test func aManualUpdateReplacesThePagesAndKeepsTheIdentifiers() async throws {
    let clock = TestClock()
    let store = QueryStore.detached(query: PagesQuery(self.source).clock(clock))
    try await store.load(2)
    clock.advance(by: 3)
    store.currentValue = testPages(5...5)
    #expect(store.state.nextPageId == 3 && store.state.previousPageId == 0)
    #expect(store.valueUpdateCount == 3)
    #expect(store.valueLastUpdatedAt == clock.now())
    // The next page is the one that was known.
    #expect(try await store.fetchNextPage()?.id == 3)
    #expect(store.ids == [5, 3])
  }

  @Test func anErrorKeepsPagesAndASuccessClearsIt() async throws {
    let clock = TestClock()
    let store = QueryStore.detached(query: PagesQuery(self.source).clock(clock))
    try await store.load(1)
    let date = clock.now()
    clock.advance(by: 1)
    store.setResult(to: .failure(TestError()))
    #expect(store.state.error as? TestError == TestError())
    #expect(store.state.status.isFailure)
    #expect(store.ids == [1])
    #expect(store.valueLastUpdatedAt == date)
    #expect(store.errorLastUpdatedAt == clock.now())
    try await store.fetch()
    #expect(store.state.error == nil)
    #expect(store.errorUpdateCount == 1)
    #expect(store.errorLastUpdatedAt == clock.now())
    #expect(store.state.status.isSuccessful)
  }

  // MARK: - Reset

  @Test func resetIsAFreshStateWithTheSameInitialPages() async throws {
    let store = PagesQuery(self.source).store(1...2)
    try await store.fetch()
    try await store.load(1)
    store.setResult(to: .failure(TestError()))
    store.reset()
    #expect(store.currentValue == testPages(1...2))
    #expect(store.state.initialPageId == 1)
    #expect(store.state.nextPageId == nil && store.state.previousPageId == nil)
    #expect(store.valueUpdateCount == 0 && store.errorUpdateCount == 0)
    #expect(store.valueLastUpdatedAt == nil && store.errorLastUpdatedAt == nil)
    #expect(store.state.error == nil)
    #expect(store.state.status.isIdle)
  }

  @Test func resetCancelsTheTasksOfAllKinds() async throws {
    let store = PagesQuery(self.source).store()
    let initial = store.fetchTask()
    store.reset()
    #expect(initial.isCancelled)
    try await store.load(1)
    let next = store.fetchNextPageTask()
    let previous = store.fetchPreviousPageTask()
    let all = store.fetchAllPagesTask()
    store.reset()
    #expect(next.isCancelled && previous.isCancelled && all.isCancelled)
    #expect(!store.isLoading)
    await #expect(throws: CancellationError.self) { try await next.runIfNeeded() }
    #expect(store.errorUpdateCount == 0)
    #expect(self.source.ids == [1])
    try await store.fetch()
    #expect(store.ids == [1])
  }

  @Test func identifiersOfATaskGoWhenItEnds() async throws {
    let store = PagesQuery(self.source).store()
    try await store.load(1)
    try await store.fetchPreviousPage()
    try await store.fetchAllPages()
    #expect(store.initialPageActiveTasks.isEmpty && store.allPagesActiveTasks.isEmpty)
    #expect(store.nextPageActiveTasks.isEmpty && store.previousPageActiveTasks.isEmpty)
  }
}
