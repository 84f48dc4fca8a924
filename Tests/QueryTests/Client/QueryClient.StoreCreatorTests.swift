import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryClientStoreCreatorTests {
  /// Contexts of a query's, an infinite query's and a mutation's store.
  private func contexts(
    _ creator: QueryClient.DefaultStoreCreator,
    _ edit: (inout QueryContext) -> Void = { _ in }
  ) -> [QueryContext] {
    let client = QueryClient.quiet(creator)
    edit(&client.defaultContext)
    return [
      client.store(for: ProbeQuery()).context,
      client.store(for: ProbePages()).context,
      client.store(for: ProbeMutation()).context,
    ]
  }

  // MARK: - The table

  @Test func allKindsAreRetried() {
    let none = self.contexts(.default(retryLimit: 5, networkObserver: nil, activityObserver: nil))
    #expect(none.map(\.maxRetries) == [5, 5, 5])
    let defaults = self.contexts(.default(networkObserver: nil, activityObserver: nil))
    #expect(defaults.map(\.maxRetries) == [3, 3, 3])
    #expect(self.contexts(.defaultTesting).map(\.maxRetries) == [0, 0, 0])
  }

  @Test func allKindsHaveTheBackoffAndTheDelayer() {
    let set = self.contexts(.default(backoff: .constant(4), delayer: .noDelay))
    #expect(set.allSatisfy { $0.queryBackoffFunction.rawDescription == "Constant 4.0 secs" })
    #expect(set.allSatisfy { $0.queryDelayer is NoDelayer })
    let testing = self.contexts(.defaultTesting)
    #expect(testing.allSatisfy { $0.queryBackoffFunction.rawDescription == "No Backoff" })
    #expect(testing.allSatisfy { $0.queryDelayer is NoDelayer })
  }

  @Test func theContextsBackoffAndDelayerStayWhereNoneIsGiven() {
    let defaults = self.contexts(.default())
    #expect(
      defaults.allSatisfy { $0.queryBackoffFunction.rawDescription == "Exponential every 1.0 sec" }
    )
    #expect(defaults.allSatisfy { $0.queryDelayer is ClockDelayer<ContinuousClock> })
    let edited = self.contexts(.default()) { context in
      context.queryBackoffFunction = .linear(2)
      context.queryDelayer = .taskSleep
    }
    #expect(edited.allSatisfy { $0.queryBackoffFunction.rawDescription == "Linear every 2.0 secs" })
    #expect(edited.allSatisfy { $0.queryDelayer is TaskSleepDelayer })
  }

  @Test func allButMutationsFetchByThemselves() {
    for creator: QueryClient.DefaultStoreCreator in [.default(), .defaultTesting] {
      let client = QueryClient.quiet(creator)
      #expect(client.store(for: ProbeQuery()).isAutomaticFetchingEnabled)
      #expect(client.store(for: ProbePages()).isAutomaticFetchingEnabled)
      #expect(!client.store(for: ProbeMutation()).isAutomaticFetchingEnabled)
    }
  }

  @Test func theConditionOfAutomaticFetchesIsTheGivenOne() {
    let condition = ManualCondition(false)
    let client = QueryClient.quiet(.default(queryEnableAutomaticFetchingCondition: condition))
    let stores = [
      OpaqueQueryStore(erasing: client.store(for: ProbeQuery())),
      OpaqueQueryStore(erasing: client.store(for: ProbePages())),
      OpaqueQueryStore(erasing: client.store(for: ProbeMutation())),
    ]
    #expect(stores.map(\.isAutomaticFetchingEnabled) == [false, false, false])
    condition.send(true)
    #expect(stores.map(\.isAutomaticFetchingEnabled) == [true, true, false])
  }

  @Test func allButMutationsRefetchWhereSomethingIsObserved() {
    let network = MockNetworkObserver()
    let activity = ManualActivity()
    func counts(_ creator: QueryClient.DefaultStoreCreator) -> [Int] {
      self.contexts(creator).map(\.queryControllers.count)
    }
    #expect(counts(.default(networkObserver: network, activityObserver: nil)) == [1, 1, 0])
    #expect(counts(.default(networkObserver: nil, activityObserver: activity)) == [1, 1, 0])
    #expect(counts(.default(networkObserver: network, activityObserver: activity)) == [1, 1, 0])
    #expect(counts(.default(networkObserver: nil, activityObserver: nil)) == [0, 0, 0])
    #expect(counts(.defaultTesting) == [0, 0, 0])
  }

  @Test func theActivityObserverIsTheContextsOwnOrElseTheCreators() {
    let (own, creators) = (ManualActivity(), ManualActivity())
    let creator = QueryClient.DefaultStoreCreator.default(
      networkObserver: nil, activityObserver: creators)
    func observers(_ edit: (inout QueryContext) -> Void = { _ in }) -> [ManualActivity?] {
      self.contexts(creator, edit).map { $0.applicationActivityObserver as? ManualActivity }
    }
    #expect(observers().allSatisfy { $0 === creators })
    #expect(observers { $0.applicationActivityObserver = own }.allSatisfy { $0 === own })
  }

  @Test(arguments: 0..<3)
  func aRefetchWaitsForAllThatIsObserved(which: Int) async {
    let network = MockNetworkObserver(initialStatus: .disconnected)
    let activity = ManualActivity()
    let client = QueryClient.quiet(
      .default(
        networkObserver: which == 1 ? nil : network,
        activityObserver: which == 0 ? nil : activity
      )
    )
    let gate = Gate()
    let query = ProbeQuery(onFetch: { _, _ in
      try await gate.pass()
      return 1
    })
    .staleWhenNoValue()
    let store = client.store(for: query, initialValue: 1)
    let subscription = store.subscribe(with: QueryEventHandler())
    activity.send(false)
    store.currentValue = nil
    #expect(!store.isLoading)
    network.send(status: .connected)
    #expect(store.isLoading == (which == 0))
    activity.send(true)
    #expect(store.isLoading)
    subscription.cancel()
    gate.open()
  }

  @Test func queriesAndPagesAreDeduplicatedAndMutationsAreNot() async throws {
    let gate = Gate()
    let client = QueryClient.quiet()
    let query = ProbeQuery(onFetch: { _, _ in
      try await gate.pass()
      return 1
    })
    let pages = ProbePages(onFetch: { _, _ in
      try await gate.pass()
      return "page"
    })
    let mutation = ProbeMutation(onMutate: { argument, _ in
      try await gate.pass()
      return argument
    })
    let queryStore = client.store(for: query)
    let pagesStore = client.store(for: pages)
    let mutationStore = client.store(for: mutation)
    let fetches = (0..<2).map { _ in
      (
        Task { try await queryStore.fetch() }, Task { try await pagesStore.fetchNextPage() },
        Task { try await mutationStore.mutate(with: 1) }
      )
    }
    // One for the query, one for the pages, and two for the mutation.
    await gate.arrival(4)
    _ = await queryStore.states.first { $0.state.activeTasks.count == 2 }
    _ = await pagesStore.states.first { $0.state.initialPageActiveTasks.count == 2 }
    gate.open()
    for (query, page, mutation) in fetches {
      #expect(try await query.value == 1)
      #expect(try await page.value?.value == "page")
      #expect(try await mutation.value == 1)
    }
    #expect(mutationStore.history.count == 2)
  }

  @Test func theRequestWinsOverTheDefaults() {
    let client = QueryClient.quiet(.default(backoff: .constant(9), delayer: .noDelay))
    let query = ProbeQuery().retry(limit: 1).backoff(.linear(1)).delayer(.taskSleep)
      .disableAutomaticFetching()
    let store = client.store(for: query)
    #expect(store.context.maxRetries == 1)
    #expect(store.context.queryBackoffFunction.rawDescription == "Linear every 1.0 sec")
    #expect(store.context.queryDelayer is TaskSleepDelayer)
    #expect(!store.isAutomaticFetchingEnabled)
  }

  // MARK: - Creators of one's own

  @Test func aCreatorOfOnesOwnMakesTheStores() async throws {
    let calls = Recorder<String>()
    let client = QueryClient(
      storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: nil),
      storeCreator: TracingCreator(calls: calls)
    )
    let store = client.store(for: ProbeQuery(), initialValue: 4)
    #expect(store.context.trace == ["creator"])
    #expect(store.currentValue == 4)
    #expect(store.context.queryClient === client)
    #expect(!store.isAutomaticFetchingEnabled)
    #expect(client.store(for: ProbeQuery()) === store)
    client.withStores { _, create in _ = create(for: ProbePages()) }
    #expect(calls.elements == ["ProbeQuery", "ProbePages"])
  }

  @Test func aCreatorRunsWithoutALock() {
    let results = Recorder<Bool>()
    let client = QueryClient(storeCreator: ReentrantCreator(results: results))
    _ = client.store(for: ProbeQuery())
    #expect(results.elements == [true])
  }

  /// Two requests whose stores are to have one path take turns there: each gets its own.
  @Test func aStoreIsKeptUnderThePathThatItsCreatorChose() {
    let client = QueryClient(
      storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: nil),
      storeCreator: MovingCreator()
    )
    for number in 1...2 {
      let store = client.store(for: ProbeQuery(path: [number]), initialValue: number)
      #expect(store.currentValue == number)
      let kept = client.store(with: ["moved"])?.base as? QueryStore<ProbeQuery.State>
      #expect(kept === store)
    }
  }

  @Test func aStoreThatAnotherHasReplacedTakesNoOthersPlace() {
    let cache = QueryClient.DefaultStoreCache(maxUnusedStores: 2, memoryPressureSource: nil)
    let client = QueryClient(storeCache: cache)
    let moving = QueryClient(storeCache: cache, storeCreator: MovingCreator())
    _ = client.store(for: ProbeQuery(path: ["stays"]))
    for number in 1...3 { _ = moving.store(for: ProbeQuery(path: [number])) }
    #expect(Set(client.stores(matching: []).map(\.path)) == [["stays"], ["moved"]])
  }
}

private struct MovingCreator: QueryClient.StoreCreator {
  private struct Moved<Base: QueryRequest>: QueryRequest {
    let base: Base
    var path: QueryPath { ["moved"] }

    func setup(context: inout QueryContext) { self.base.setup(context: &context) }

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Base.Value>
    ) async throws -> Base.Value {
      try await self.base.fetch(in: context, with: continuation)
    }

    typealias State = Base.State
    typealias Value = Base.Value
  }

  func store<Query: QueryRequest>(
    for query: Query,
    in context: QueryContext,
    with initialState: Query.State
  ) -> QueryStore<Query.State> {
    .detached(query: Moved(base: query), initialState: initialState, initialContext: context)
  }
}

private struct TracingCreator: QueryClient.StoreCreator {
  let calls: Recorder<String>

  func store<Query: QueryRequest>(
    for query: Query,
    in context: QueryContext,
    with initialState: Query.State
  ) -> QueryStore<Query.State> {
    self.calls.append(query._debugTypeName)
    return .detached(
      query: query.traced("creator"),
      initialState: initialState,
      initialContext: context
    )
  }
}

private struct ReentrantCreator: QueryClient.StoreCreator {
  let results: Recorder<Bool>

  func store<Query: QueryRequest>(
    for query: Query,
    in context: QueryContext,
    with initialState: Query.State
  ) -> QueryStore<Query.State> {
    if query.path == ["probe"] {
      self.results.append(
        isDoneElsewhere { _ = context.queryClient?.store(for: ProbeTextQuery()) }
      )
    }
    return .detached(query: query, initialState: initialState, initialContext: context)
  }
}
