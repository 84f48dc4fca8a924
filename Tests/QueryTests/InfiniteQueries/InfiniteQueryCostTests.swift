import TestSupport
import Testing

@testable import Query

/// That pages and attempts are added in place: the list keeps its storage, while a copy would have
/// another one. A list of 64 elements that was grown to 65 has room for many more.
@Suite(.warningsAreIssues) struct InfiniteQueryCostTests {
  private func storage(of store: QueryStore<TestPagesState>) -> ObjectIdentifier? {
    store.currentValue.storage.map { ObjectIdentifier($0) }
  }

  /// A store with 65 pages.
  private func loadedStore(
    _ fetch: @escaping @Sendable (PagesQuery.Call) async throws -> Int = { $0.id * 10 }
  ) async throws -> QueryStore<TestPagesState> {
    let store = PagesQuery(PageSource(-999...999, isRecording: false), fetch: fetch).store()
    store.currentValue = testPages(1...64)
    try await store.fetch()
    try await store.load(1)
    return store
  }

  @Test func nextAndPreviousPagesAreInsertedInPlace() async throws {
    let store = try await self.loadedStore()
    let before = self.storage(of: store)
    for _ in 0..<20 {
      try await store.fetchNextPage()
      try await store.fetchPreviousPage()
    }
    #expect(store.currentValue.count == 105)
    #expect(self.storage(of: store) == before)
  }

  @Test func aSubscriberThatKeepsNothingCausesNoCopy() async throws {
    let store = try await self.loadedStore()
    let counter = Counter()
    let subscription = store.subscribe(
      with: InfiniteQueryEventHandler(
        onStateChanged: { state, _ in if state.isLoading { counter.increment() } },
        onPageResultReceived: { _, _, _ in counter.increment() },
        onResultReceived: { _, _ in counter.increment() }
      )
    )
    try await store.load(1)
    let before = self.storage(of: store)
    try await store.load(20)
    #expect(self.storage(of: store) == before)
    subscription.cancel()
  }

  @Test func aPageThatIsThereIsReplacedInPlace() async throws {
    let store = try await self.loadedStore()
    store.currentValue[id: 65] = nil
    store.currentValue.insert(TestPage(id: 66, value: 0), at: 10)
    let before = self.storage(of: store)
    #expect(try await store.fetchNextPage()?.id == 66)
    #expect(store.currentValue[10] == TestPage(id: 66, value: 660))
    #expect(self.storage(of: store) == before)
  }

  @Test func theTrackerOfAllPagesAddsInPlace() {
    let tracker = AllPagesTracker<Int, Int>()
    _ = tracker.progress(startingWith: testPages(1...100), keeping: .max)
    for id in 1...65 { tracker.add(TestPage(id: id, value: 0)) }
    let before = tracker.progress(startingWith: [], keeping: .max)
      .pages.storage.map { ObjectIdentifier($0) }
    for id in 66...100 { tracker.add(TestPage(id: id, value: 0)) }
    let progress = tracker.progress(startingWith: [], keeping: .max)
    #expect(progress.pages.storage.map { ObjectIdentifier($0) } == before)
    #expect(progress.isFull)
    #expect(progress.firstPageId == 1)
  }

  @Test func aRefetchOfAllPagesHoldsItsListAlone() async throws {
    let lists = Recorder<ObjectIdentifier?>()
    let store = try await self.loadedStore { call in
      if call.paging.request == .allPages, call.paging.pages.count > 40 {
        lists.append(call.paging.pages.storage.map { ObjectIdentifier($0) })
      }
      return call.id * 10
    }
    lists.removeAll()
    try await store.fetchAllPages()
    #expect(lists.count == 24)
    #expect(Set(lists.elements).count == 1)
  }

  @Test func attemptsAreAddedToTheHistoryInPlace() async throws {
    let store = QueryStore.detached(mutation: EchoMutation())
    for _ in 0..<65 { try await store.mutate(with: "a") }
    let before = store.history.storage.map { ObjectIdentifier($0) }
    for _ in 0..<35 { try await store.mutate(with: "a") }
    #expect(store.history.storage.map { ObjectIdentifier($0) } == before)
    #expect(store.history.count == 100)
  }

  @Test func aHistoryThatIsKeptSharesItsAttemptsWithTheNextOne() async throws {
    let store = QueryStore.detached(mutation: EchoMutation())
    for _ in 0..<10 { try await store.mutate(with: "a") }
    let kept = store.state
    try await store.mutate(with: "b")
    #expect(kept.history.count == 10)
    #expect(zip(kept.history, store.history).allSatisfy { $0.content === $1.content })
    // What changes is copied.
    let task = store.mutateTask(with: "c")
    let loading = store.state
    try await task.runIfNeeded()
    #expect(loading.history.last?.status.isLoading == true)
    #expect(store.history.last?.status.resultValue == "C")
  }
}
