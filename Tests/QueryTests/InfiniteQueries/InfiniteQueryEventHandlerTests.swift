import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct InfiniteQueryEventHandlerTests {
  private let events = EventCollector<TestPagesState>()

  private func pageEvents(_ id: Int, _ value: Int) -> [ObservedEvent] {
    [.pageStarted("\(id)"), .pageReturned("\(id)", "\(value)"), .pageEnded("\(id)")]
  }

  // MARK: - Without yields

  @Test func initialPage() async throws {
    let store = PagesQuery().store()
    try await store.fetchNextPage(handler: self.events.infiniteHandler())
    #expect(
      self.events.events == [
        .stateChanged, .fetchingStarted, .pageStarted("1"), .pageReturned("1", "10"),
        .pageEnded("1"), .returned("[10]"), .stateChanged, .fetchingEnded,
      ]
    )
  }

  @Test func nextPageReportsAllPagesAtTheEnd() async throws {
    let store = PagesQuery().store()
    try await store.load(2)
    try await store.fetchNextPage(handler: self.events.infiniteHandler())
    #expect(
      self.events.events == [
        .stateChanged, .fetchingStarted, .pageStarted("3"), .pageReturned("3", "30"),
        .pageEnded("3"), .returned("[10, 20, 30]"), .stateChanged, .fetchingEnded,
      ]
    )
  }

  @Test func previousPageReportsAllPagesAtTheEnd() async throws {
    let store = PagesQuery().store()
    try await store.load(2)
    try await store.fetchPreviousPage(handler: self.events.infiniteHandler())
    #expect(
      self.events.events == [
        .stateChanged, .fetchingStarted, .pageStarted("0"), .pageReturned("0", "0"),
        .pageEnded("0"), .returned("[0, 10, 20]"), .stateChanged, .fetchingEnded,
      ]
    )
  }

  @Test func allPagesRepeatThePageEventsWithoutStateChangesBetween() async throws {
    let store = PagesQuery().store()
    try await store.load(3)
    try await store.fetchAllPages(handler: self.events.infiniteHandler())
    var expected: [ObservedEvent] = [.stateChanged, .fetchingStarted]
    for id in 1...3 { expected += self.pageEvents(id, id * 10) }
    expected += [.returned("[10, 20, 30]"), .stateChanged, .fetchingEnded]
    #expect(self.events.events == expected)
  }

  @Test func allPagesOfAnEmptyStoreHaveNoPageEvents() async throws {
    let store = PagesQuery().store()
    let pages = try await store.fetchAllPages(handler: self.events.infiniteHandler())
    #expect(pages.isEmpty)
    #expect(
      self.events.events == [
        .stateChanged, .fetchingStarted, .returned("[]"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(store.valueUpdateCount == 1)
    #expect(store.state.hasNextPage)
  }

  // MARK: - With yields

  @Test func yieldsOfAPageChangeTheState() async throws {
    let store = PagesQuery { call in
      call.continuation.yield(call.id * 10 + 1)
      call.continuation.yield(error: TestError("early"))
      call.continuation.yield(call.id * 10 + 2)
      return call.id * 10
    }
    .store()
    try await store.load(1)
    try await store.fetchNextPage(handler: self.events.infiniteHandler())
    #expect(
      self.events.events == [
        .stateChanged, .fetchingStarted, .pageStarted("2"), .pageYielded("2", "21"),
        .stateChanged, .pageYielded("2", "TestError(early)"), .stateChanged,
        .pageYielded("2", "22"), .stateChanged, .pageReturned("2", "20"), .pageEnded("2"),
        .returned("[10, 20]"), .stateChanged, .fetchingEnded,
      ]
    )
    let states = self.events.states
    #expect(
      states.map { $0.currentValue.map(\.value) }
        == [[10], [10, 21], [10, 21], [10, 22], [10, 20]]
    )
    #expect(states.map(\.isLoading) == [true, true, true, true, false])
    #expect(states.map { $0.error as? TestError } == [nil, nil, TestError("early"), nil, nil])
    #expect(states.map(\.nextPageId) == [2, 3, 3, 3, 3])
  }

  @Test func yieldsOfThePreviousAndTheInitialPageAreInsertedAsSuch() async throws {
    let query = PagesQuery { call in
      call.continuation.yield(call.id * 10 + 1)
      return call.id * 10
    }
    let store = query.store()
    try await store.fetch(
      handler: QueryEventHandler(onStateChanged: self.events.handler.onStateChanged)
    )
    try await store.fetchPreviousPage(handler: self.events.infiniteHandler())
    #expect(
      self.events.states.map { $0.currentValue.map(\.value) }
        == [[], [11], [10], [10], [1, 10], [0, 10]]
    )
    #expect(self.events.states.map(\.previousPageId) == [nil, 0, 0, 0, -1, -1])
  }

  @Test func yieldsOfAllPagesShowThePagesSoFar() async throws {
    let query = PagesQuery { call in
      guard call.index >= 3, call.id == 2 else { return call.id * 10 + call.index }
      call.continuation.yield(100)
      return 200
    }
    let store = query.store()
    try await store.load(3)
    try await store.fetchAllPages(handler: self.events.infiniteHandler())
    #expect(
      self.events.events == [
        .stateChanged, .fetchingStarted, .pageStarted("1"), .pageReturned("1", "13"),
        .pageEnded("1"), .pageStarted("2"), .pageYielded("2", "100"), .stateChanged,
        .pageReturned("2", "200"), .pageEnded("2"), .pageStarted("3"), .pageReturned("3", "35"),
        .pageEnded("3"), .returned("[13, 200, 35]"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(
      self.events.states.map { $0.currentValue.map(\.value) }
        == [[10, 21, 32], [13, 100], [13, 200, 35]]
    )
    #expect(self.events.states.map(\.nextPageId) == [4, 3, 4])
  }

  // MARK: - Failures

  @Test func aFailingPageIsReportedAsPageAndAsWhole() async throws {
    let store = PagesQuery { call in
      if call.id == 2 { throw TestError() }
      return call.id * 10
    }
    .store()
    try await store.load(1)
    await #expect(throws: TestError()) {
      try await store.fetchNextPage(handler: self.events.infiniteHandler())
    }
    #expect(
      self.events.events == [
        .stateChanged, .fetchingStarted, .pageStarted("2"),
        .pageReturned("2", "TestError(expected)"), .pageEnded("2"),
        .returned("TestError(expected)"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(store.ids == [1])
    #expect(store.state.errorUpdateCount == 1)
    #expect(store.state.nextPageId == 2)
  }

  @Test func afterAFailingPageTheRemainingOnesAreNotTried() async throws {
    let source = PageSource()
    let store = PagesQuery(source) { call in
      if call.index >= 3 && call.id == 2 { throw TestError() }
      return call.id * 10 + call.index
    }
    .store()
    try await store.load(3)
    await #expect(throws: TestError()) {
      try await store.fetchAllPages(handler: self.events.infiniteHandler())
    }
    #expect(
      self.events.events == [
        .stateChanged, .fetchingStarted, .pageStarted("1"), .pageReturned("1", "13"),
        .pageEnded("1"), .pageStarted("2"), .pageReturned("2", "TestError(expected)"),
        .pageEnded("2"), .returned("TestError(expected)"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(source.ids == [1, 2, 3, 1, 2])
    #expect(store.currentValue.map(\.value) == [10, 21, 32])
  }

  // MARK: - Subscribing

  @Test func subscribersSeeTheStateFirstAndThePagesOfAPlainFetch() async throws {
    let store = PagesQuery().store()
    let subscription = store.subscribe(with: self.events.infiniteHandler())
    try await store.fetch()
    #expect(
      self.events.events == [
        .stateChanged, .stateChanged, .fetchingStarted, .pageStarted("1"),
        .pageReturned("1", "10"), .pageEnded("1"), .returned("[10]"), .stateChanged,
        .fetchingEnded,
      ]
    )
    #expect(store.subscriberCount == 1)
    subscription.cancel()
    try await store.fetch()
    #expect(self.events.events.count == 9)
  }

  @Test func ordinaryHandlersHearOfAnInfiniteFetchWithoutItsPages() async throws {
    let store = PagesQuery { call in
      call.continuation.yield(11)
      return 10
    }
    .store()
    try await store.fetch(handler: self.events.handler)
    let kinds = self.events.events.map { event in
      switch event {
      case .yielded: "yielded"
      case .returned: "returned"
      default: "\(event)"
      }
    }
    #expect(
      kinds == [
        "stateChanged", "fetchingStarted", "yielded", "stateChanged", "returned",
        "stateChanged", "fetchingEnded",
      ]
    )
  }

  @Test func aHandlerOfNothingIsASubscriberAllTheSame() {
    let store = PagesQuery().store()
    let subscription = store.subscribe(with: InfiniteQueryEventHandler<Int, Int>())
    #expect(store.subscriberCount == 1)
    subscription.cancel()
    #expect(store.subscriberCount == 0)
  }

  @Test func theClosuresCanBeReplaced() async throws {
    var handler = InfiniteQueryEventHandler<Int, Int>()
    let ended = Recorder<Int>()
    handler.onPageFetchingEnded = { id, _ in ended.append(id) }
    try await PagesQuery().store().fetchNextPage(handler: handler)
    #expect(ended.elements == [1])
  }

  // MARK: - Contexts

  @Test func contextsOfPageEventsHaveTheTaskTheStoreAndTheReason() async throws {
    let store = PagesQuery { call in
      call.continuation.yield(11)
      return 10
    }
    .store()
    try await store.fetchNextPage(handler: self.events.infiniteHandler())
    let entries = self.events.entries.elements
    #expect(entries.map(\.event).contains(.pageYielded("1", "11")))
    // The first event tells of the schedule; it has neither task nor store.
    #expect(entries[0].context.queryRunningTaskIdentifier == nil)
    #expect(entries[0].context.currentFetchingQueryStore == nil)
    let identifiers = Set(entries.dropFirst().map(\.context.queryRunningTaskIdentifier))
    #expect(identifiers.count == 1)
    #expect(identifiers.first != .some(nil))
    for entry in entries.dropFirst() {
      #expect(entry.context.currentFetchingQueryStore?.path == ["pages"])
    }
    #expect(
      entries.map(\.context.queryResultUpdateReason) == [
        nil, nil, nil, .yieldedResult, .yieldedResult, .returnedFinalResult, nil,
        .returnedFinalResult, nil, nil,
      ]
    )
  }
}
