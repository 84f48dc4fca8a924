import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreInfiniteQueriesTests {
  private let source = PageSource()

  private var store: QueryStore<TestPagesState> { PagesQuery(self.source).store() }

  // MARK: - What they return

  @Test func theFetchesReturnWhatTheyFetched() async throws {
    let store = self.store
    #expect(try await store.fetchNextPage() == TestPage(id: 1, value: 10))
    #expect(try await store.fetchNextPage() == TestPage(id: 2, value: 20))
    #expect(try await store.fetchPreviousPage() == TestPage(id: 0, value: 0))
    #expect(try await store.fetchAllPages() == testPages(0...2))
    #expect(store.currentValue == testPages(0...2))
    #expect(store.valueUpdateCount == 4)
  }

  @Test func thePreviousPageOfAnEmptyStoreIsTheInitialOne() async throws {
    let store = self.store
    #expect(try await store.fetchPreviousPage() == TestPage(id: 1, value: 10))
    #expect(self.source.pagings.map(\.request) == [.initialPage])
  }

  @Test func aPlainFetchIsTheInitialPageAndThenAllPages() async throws {
    let store = self.store
    #expect(
      try await store.fetch().fetchValue == .initialPage(TestPage(id: 1, value: 10))
    )
    try await store.load(1)
    #expect(try await store.fetch().fetchValue == .allPages(testPages(1...2)))
    store.reset()
    #expect(
      try await store.fetch().fetchValue == .initialPage(TestPage(id: 1, value: 10))
    )
    #expect(store.ids == [1])
  }

  @Test func withNoPageLeftTheyReturnNilAtOnceWithoutEvents() async throws {
    let source = PageSource(1...1)
    let store = PagesQuery(source).store()
    try await store.load(1)
    let events = EventCollector<TestPagesState>()
    #expect(try await store.fetchNextPage(handler: events.infiniteHandler()) == nil)
    #expect(try await store.fetchPreviousPage(handler: events.infiniteHandler()) == nil)
    let next = store.fetchNextPageTask()
    let previous = store.fetchPreviousPageTask()
    #expect(!store.isLoading)
    #expect(try await next.runIfNeeded() == nil)
    #expect(try await previous.runIfNeeded() == nil)
    #expect(next.finishedResult != nil)
    #expect(events.events.isEmpty)
    #expect(source.ids == [1])
    #expect(store.valueUpdateCount == 1)
  }

  @Test func tasksReturnTheSameValuesAsTheFetches() async throws {
    let store = self.store
    let next = store.fetchNextPageTask()
    #expect(store.initialPageActiveTasks.ids == [next.id])
    #expect(try await next.runIfNeeded() == TestPage(id: 1, value: 10))
    #expect(try await store.fetchPreviousPageTask().runIfNeeded()?.id == 0)
    #expect(try await store.fetchAllPagesTask().runIfNeeded().ids == [0, 1])
    #expect(!store.isLoading)
  }

  // MARK: - Names

  @Test func namesOfTheTasks() async throws {
    let store = self.store
    let initial = store.fetchTask()
    #expect(initial.configuration.name == "QueryStore<InfiniteQueryState<Int, Int>> Task")
    initial.cancel()
    try await store.load(1)
    let prefix = "QueryStore<InfiniteQueryState<Int, Int>>"
    #expect(store.fetchAllPagesTask().configuration.name == "\(prefix) Fetch All Pages Task")
    #expect(store.fetchNextPageTask().configuration.name == "\(prefix) Fetch Next Page Task")
    #expect(
      store.fetchPreviousPageTask().configuration.name == "\(prefix) Fetch Previous Page Task"
    )
    #expect(!store.isLoading)
  }

  @Test func customNamesWinInAllKinds() async throws {
    let names = Recorder<String?>()
    let store = QueryStore.detached(
      query: PagesQuery(self.source) { call in
        names.append(call.context.queryTaskConfiguration.name)
        return call.id * 10
      }
      .taskConfiguration(QueryTaskConfiguration(name: "Mine"))
    )
    try await store.load(1)
    try await store.load(1)
    try await store.fetchPreviousPage()
    try await store.fetchAllPages(using: QueryTaskConfiguration(name: "Other"))
    #expect(names.elements == ["Mine", "Mine", "Mine", "Other", "Other", "Other"])
  }

  // MARK: - Contexts

  @Test func theKindIsSetByTheMethodWhateverTheContextIs() async throws {
    let store = self.store
    try await store.load(1)
    #expect(try await store.fetchNextPage(using: QueryContext())?.id == 2)
    #expect(try await store.fetchPreviousPage(using: QueryContext())?.id == 0)
    #expect(try await store.fetchAllPages(using: QueryContext()).ids == [0, 1, 2])
    let contextOfAll = store.fetchAllPagesTask().context
    #expect(try await store.fetchNextPage(using: contextOfAll)?.id == 3)
    #expect(try await store.fetchNextPageTask(using: contextOfAll).runIfNeeded()?.id == 4)
    #expect(try await store.fetchPreviousPageTask(using: contextOfAll).runIfNeeded()?.id == -1)
    let contextOfNext = store.fetchNextPageTask().context
    #expect(try await store.fetchAllPagesTask(using: contextOfNext).runIfNeeded().count == 6)
  }

  @Test func aPlainFetchIsPlainWhateverTheContextIs() async throws {
    let store = self.store
    try await store.load(2)
    let context = store.fetchNextPageTask().context
    #expect(try await store.fetch(using: context).fetchValue == .allPages(testPages(1...2)))
    let task = store.fetchTask(using: context)
    #expect(store.allPagesActiveTasks.ids == [task.id])
    #expect(try await task.runIfNeeded().fetchValue == .allPages(testPages(1...2)))
    let opaque = OpaqueQueryStore(erasing: store)
    try await opaque.fetch(using: context)
    #expect(store.ids == [1, 2])
  }

  @Test func aPlainFetchInAPageFetchOfAnotherStoreIsPlain() async throws {
    let other = PagesQuery(self.source).store()
    try await other.load(2)
    let store = PagesQuery { call in
      try await other.fetch(using: call.context)
      return call.id * 10
    }
    .store()
    try await store.load(2)
    #expect(self.source.ids == [1, 2, 1, 2, 1, 2])
    #expect(other.ids == [1, 2])
    #expect(store.ids == [1, 2])
  }

  @Test func theClockOfTheContextStampsTheUpdate() async throws {
    let store = self.store
    var context = store.context
    let date = Date(timeIntervalSince1970: 77)
    context.queryClock = .timeFreeze(date)
    try await store.fetchNextPage(using: context)
    #expect(store.valueLastUpdatedAt == date)
  }

  // MARK: - Tasks that do not run

  @Test func aCancelledUnrunTaskFailsInTheState() async throws {
    let store = self.store
    try await store.load(1)
    let events = EventCollector<TestPagesState>()
    let subscription = store.subscribe(with: events.infiniteHandler())
    let task = store.fetchNextPageTask()
    task.cancel()
    #expect(!store.isLoading)
    #expect(store.state.error is CancellationError)
    #expect(store.errorUpdateCount == 1)
    #expect(store.ids == [1])
    #expect(events.events == [.stateChanged, .stateChanged, .stateChanged])
    subscription.cancel()
  }

  @Test func aDroppedUnrunTaskEndsWithoutAnError() async throws {
    let store = self.store
    try await store.load(1)
    do {
      let task = store.fetchAllPagesTask()
      #expect(store.state.isLoadingAllPages)
      withExtendedLifetime(task) {}
    }
    #expect(!store.isLoading)
    #expect(store.errorUpdateCount == 0)
  }

  @Test func aTaskThatOthersWaitForIsStartedByThem() async throws {
    let store = self.store
    let initial = store.fetchTask()
    let next = store.fetchNextPageTask()
    let all = store.fetchAllPagesTask()
    #expect(try await all.runIfNeeded().ids == [1, 2])
    #expect(initial.isFinished && next.isFinished)
    #expect(try await next.runIfNeeded()?.id == 2)
    #expect(self.source.ids == [1, 2, 1, 2])
  }

  @Test func aDependencyThatIsCancelledDoesNotFailItsDependants() async throws {
    let store = self.store
    try await store.load(1)
    let all = store.fetchAllPagesTask()
    let next = store.fetchNextPageTask()
    all.cancel()
    #expect(try await next.runIfNeeded()?.id == 2)
  }

  @Test func aCancelledPageIsAnOrdinaryFailure() async throws {
    let gate = Gate()
    let store = PagesQuery(self.source) { call in
      if call.index > 0 { try await gate.pass() }
      return call.id * 10
    }
    .store()
    try await store.load(1)
    let task = Task { try await store.fetchNextPage() }
    await gate.arrival()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(store.state.status.isCancelled)
    #expect(store.errorUpdateCount == 1)
    #expect(store.ids == [1])
    #expect(store.state.nextPageId == 2)
  }

  // MARK: - Subscribing

  @Test func theFirstSubscriberOfAnEmptyStoreFetchesTheInitialPage() async throws {
    let query = PagesQuery(self.source).enableAutomaticFetching(onlyWhen: .always(true))
    let store = QueryStore.detached(query: query)
    let events = EventCollector<TestPagesState>()
    let subscription = store.subscribe(with: events.infiniteHandler())
    let task = try #require(store.initialPageActiveTasks.first)
    _ = try await task.runIfNeeded()
    await events.wait(for: .fetchingEnded)
    #expect(
      events.events == [
        .stateChanged, .stateChanged, .fetchingStarted, .pageStarted("1"),
        .pageReturned("1", "10"), .pageEnded("1"), .returned("[10]"), .stateChanged,
        .fetchingEnded,
      ]
    )
    subscription.cancel()
  }

  @Test func theFirstSubscriberOfLoadedPagesFetchesThemAll() async throws {
    let query = PagesQuery(self.source).enableAutomaticFetching(onlyWhen: .always(true))
    let store = QueryStore.detached(query: query, initialValue: testPages(3...4))
    let subscription = store.subscribe(with: InfiniteQueryEventHandler())
    let task = try #require(store.allPagesActiveTasks.first)
    #expect(try await task.runIfNeeded().fetchValue == .allPages(testPages(3...4)))
    #expect(store.ids == [3, 4])
    #expect(self.source.ids == [3, 4])
    subscription.cancel()
  }
}
