import Query
import Synchronization
import TestSupport
import Testing

private typealias Store = QueryStore<QueryState<Int?, Int>>

@Suite(.warningsAreIssues) struct AutomaticFetchingTests {
  private let gate = Gate()
  private let handler = QueryEventHandler<QueryState<Int?, Int>>()

  private var query: ProbeQuery {
    ProbeQuery(onFetch: { [gate] _, _ in
      try await gate.pass()
      return 1
    })
  }

  private func store() -> Store {
    .detached(
      query: self.query.enableAutomaticFetching(onlyWhen: .always(true)),
      initialValue: nil
    )
  }

  // MARK: - The condition

  @Test func aDetachedStoreDoesNotFetchByItself() {
    let store = QueryStore.detached(query: self.query, initialValue: nil)
    #expect(!store.isAutomaticFetchingEnabled)
    let subscription = store.subscribe(with: self.handler)
    #expect(!store.isLoading)
    subscription.cancel()
  }

  @Test func theInnerModifierWins() {
    let disabled = self.query.disableAutomaticFetching()
      .enableAutomaticFetching(onlyWhen: .always(true))
    let enabled = self.query.disableAutomaticFetching(false).disableAutomaticFetching()
    #expect(!QueryStore.detached(query: disabled, initialValue: nil).isAutomaticFetchingEnabled)
    #expect(QueryStore.detached(query: enabled, initialValue: nil).isAutomaticFetchingEnabled)
    #expect(!QueryClient.quiet().store(for: disabled).isAutomaticFetchingEnabled)
  }

  @Test func theConditionIsAskedAtTheSubscription() {
    let condition = ManualCondition(false)
    let store = QueryStore.detached(
      query: self.query.enableAutomaticFetching(onlyWhen: condition),
      initialValue: nil
    )
    var subscription = store.subscribe(with: self.handler)
    #expect(!store.isLoading)
    condition.send(true)
    #expect(!store.isLoading, "a change of the condition alone fetches nothing")
    subscription.cancel()
    subscription = store.subscribe(with: self.handler)
    #expect(store.isLoading)
    subscription.cancel()
  }

  // MARK: - Subscribing

  @Test func theFirstSubscriptionSchedulesTheFetchBeforeItReturns() async throws {
    let store = self.store()
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = store.subscribe(with: collector.handler)
    let task = try #require(store.activeTasks.first)
    #expect(collector.states.map(\.isLoading).prefix(2) == [false, true])
    self.gate.open()
    #expect(try await task.runIfNeeded() == 1)
    await collector.wait(for: .fetchingEnded)
    #expect(
      collector.events == [
        .stateChanged, .stateChanged, .fetchingStarted, .returned("1"), .stateChanged,
        .fetchingEnded,
      ]
    )
    subscription.cancel()
  }

  @Test func laterSubscribersGetTheStateAlone() {
    let store = self.store()
    let first = store.subscribe(with: self.handler)
    let collector = EventCollector<QueryState<Int?, Int>>()
    let second = store.subscribe(with: collector.handler)
    #expect(store.activeTasks.count == 1)
    #expect(collector.events == [.stateChanged])
    first.cancel()
    second.cancel()
  }

  @Test func aValueThatIsNotStaleIsNotFetched() {
    let store = QueryStore.detached(
      query: self.query.staleWhenNoValue().enableAutomaticFetching(onlyWhen: .always(true)),
      initialValue: 1
    )
    let subscription = store.subscribe(with: self.handler)
    #expect(!store.isLoading)
    subscription.cancel()
  }

  @Test func theFirstSubscriberAfterNoneFetchesAgain() async throws {
    let store = self.store()
    self.gate.open()
    for count in 1...2 {
      let subscription = store.subscribe(with: self.handler)
      let task = try #require(store.activeTasks.first)
      try await task.runIfNeeded()
      #expect(store.valueUpdateCount == count)
      subscription.cancel()
    }
  }

  @Test func aHandlerOfAFetchIsNoSubscriber() async throws {
    let store = self.store()
    self.gate.open()
    try await store.fetch(handler: self.handler)
    #expect(store.valueUpdateCount == 1)
    #expect(store.subscriberCount == 0)
  }

  // MARK: - Unsubscribing

  @Test func theLastSubscriberTakesTheAutomaticFetchWithIt() async throws {
    let store = self.store()
    let first = store.subscribe(with: self.handler)
    let second = store.subscribe(with: self.handler)
    let task = try #require(store.activeTasks.first)
    await self.gate.arrival()
    first.cancel()
    #expect(task.isRunning)
    second.cancel()
    #expect(task.isCancelled)
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
  }

  @Test func theReleaseOfTheSubscriptionEndsItToo() async throws {
    let store = self.store()
    var subscription: QuerySubscription? = store.subscribe(with: self.handler)
    let task = try #require(store.activeTasks.first)
    #expect(subscription != nil)
    subscription = nil
    #expect(store.subscriberCount == 0)
    #expect(task.isCancelled)
  }

  @Test func aFetchByHandOutlivesTheSubscribers() async throws {
    let store = self.store()
    let subscription = store.subscribe(with: self.handler)
    let fetch = Task { try await store.fetch() }
    await self.gate.arrival(2)
    subscription.cancel()
    self.gate.open()
    #expect(try await fetch.value == 1)
  }

  @Test func aFetchByHandThatWasDeduplicatedOntoTheAutomaticOneGoesOn() async throws {
    let store = QueryClient.quiet().store(for: self.query)
    let subscription = store.subscribe(with: self.handler)
    await self.gate.arrival()
    let task = store.fetchTask()
    let fetch = Task { try await task.runIfNeeded() }
    // The second fetch has joined when its own events have begun.
    _ = await store.states.first { $0.state.activeTasks.count == 2 }
    while !task.isRunning { await Task.yield() }
    subscription.cancel()
    self.gate.open()
    #expect(try await fetch.value == 1)
  }

  // MARK: - What is fetched

  @Test func theFetchHasTheTaskConfigurationOfTheStore() async throws {
    let names = Recorder<String?>()
    let query = ProbeQuery(onFetch: { _, _ in
      names.append(Task.name)
      return 1
    })
    .taskConfiguration(QueryTaskConfiguration(name: "configured"))
    .enableAutomaticFetching(onlyWhen: .always(true))
    let store = QueryStore.detached(query: query, initialValue: nil)
    let subscription = store.subscribe(with: self.handler)
    await names.wait(forCount: 1)
    #expect(names.elements == ["configured"])
    subscription.cancel()
  }

  @Test func anEmptyInfiniteStoreFetchesItsInitialPage() async throws {
    let store = QueryClient.quiet().store(for: ProbePages())
    let subscription = store.subscribe(with: InfiniteQueryEventHandler())
    let task = try #require(store.initialPageActiveTasks.first)
    try await task.runIfNeeded()
    #expect(store.currentValue.map(\.id) == [0])
    subscription.cancel()
  }

  @Test func anInfiniteStoreWithPagesFetchesThemAll() async throws {
    let store = QueryClient.quiet().store(
      for: ProbePages(),
      initialValue: [InfiniteQueryPage(id: 0, value: "a"), InfiniteQueryPage(id: 1, value: "b")]
    )
    let subscription = store.subscribe(with: InfiniteQueryEventHandler())
    let task = try #require(store.allPagesActiveTasks.first)
    try await task.runIfNeeded()
    #expect(store.currentValue.map(\.value) == ["page 0", "page 1"])
    subscription.cancel()
  }

  @Test func aMutationNeverRunsByItself() {
    let store = QueryClient.quiet().store(for: ProbeMutation())
    let subscription = store.subscribe(with: MutationEventHandler())
    #expect(!store.isLoading)
    #expect(store.history.count == 0)
    subscription.cancel()
  }
}
