import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct OpaqueQueryStoreTests {
  private struct NumberQuery: QueryRequest {
    let path: QueryPath = ["number", 1]
    var value = 7

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int {
      if context.maxRetries == 99 { throw TestError() }
      continuation.yield(self.value - 1)
      return self.value
    }
  }

  private let base = QueryStore.detached(query: NumberQuery(), initialValue: nil)

  private var store: OpaqueQueryStore { OpaqueQueryStore(erasing: self.base) }

  // MARK: - The same store

  @Test func theBaseIsTheStoreItself() {
    #expect(self.store.base as? QueryStore<QueryState<Int?, Int>> === self.base)
    #expect(self.store.base as? QueryStore<QueryState<Int, Int>> == nil)
    #expect(self.store.path == ["number", 1])
  }

  @Test func theContextIsShared() {
    self.store.context.maxRetries = 5
    #expect(self.base.context.maxRetries == 5)
    self.base.context.maxRetries = 6
    #expect(self.store.context.maxRetries == 6)
  }

  @Test func theStateIsShared() {
    self.base.currentValue = 3
    #expect(self.store.state.base as? QueryState<Int?, Int> != nil)
    #expect(self.store.currentValue as? Int == 3)
    #expect(self.store.valueUpdateCount == 1)
    #expect(self.store.valueLastUpdatedAt == self.base.valueLastUpdatedAt)
    #expect(self.store.status.resultValue as? Int == 3)
    #expect(!self.store.isLoading)
  }

  @Test func conditionsAreThoseOfTheStore() {
    #expect(self.store.isStale)
    #expect(!self.store.isAutomaticFetchingEnabled)
    let query = NumberQuery().stale(after: 1_000).enableAutomaticFetching(onlyWhen: .always(true))
    let base = QueryStore.detached(query: query, initialValue: nil)
    let store = OpaqueQueryStore(erasing: base)
    #expect(store.isAutomaticFetchingEnabled)
    base.currentValue = 1
    #expect(!store.isStale)
  }

  @Test func theStoreLivesAsLongAsTheOpaqueOne() {
    weak var released: QueryStore<QueryState<Int?, Int>>?
    do {
      let store = OpaqueQueryStore(
        erasing: QueryStore.detached(query: NumberQuery(), initialValue: nil)
      )
      released = store.base as? QueryStore<QueryState<Int?, Int>>
      #expect(released != nil)
      withExtendedLifetime(store) {}
    }
    #expect(released == nil)
  }

  // MARK: - Fetching

  @Test func fetchesReturnTheValueWithoutItsType() async throws {
    #expect(try await self.store.fetch() as? Int == 7)
    #expect(try await self.store.fetch(using: QueryContext()) as? Int == 7)
    #expect(try await self.store.fetch(using: QueryTaskConfiguration(name: "x")) as? Int == 7)
    #expect(self.base.currentValue == 7)
    var failing = QueryContext()
    failing.maxRetries = 99
    await #expect(throws: TestError()) { try await self.store.fetch(using: failing) }
    #expect(self.store.error is TestError)
    #expect(self.store.errorUpdateCount == 1)
  }

  @Test func tasksReturnTheValueWithoutItsType() async throws {
    let task = self.store.fetchTask()
    #expect(self.base.activeTasks.ids == [task.id])
    #expect(task.configuration.name == "QueryStore<QueryState<Int?, Int>> Task")
    #expect(self.store.isLoading)
    #expect(try await task.runIfNeeded() as? Int == 7)
    let named = self.store.fetchTask(using: QueryTaskConfiguration(name: "x"))
    #expect(named.configuration.name == "x")
    #expect(try await named.runIfNeeded() as? Int == 7)
    #expect(try await self.store.fetchTask(using: QueryContext()).runIfNeeded() as? Int == 7)
  }

  @Test func aDroppedTaskEnds() {
    do {
      let task = self.store.fetchTask()
      #expect(self.store.isLoading)
      withExtendedLifetime(task) {}
    }
    #expect(!self.store.isLoading)
    #expect(self.store.errorUpdateCount == 0)
  }

  // MARK: - Subscribing

  @Test func subscribingCountsAsForTheStore() {
    let subscription = self.store.subscribe(with: OpaqueQueryEventHandler())
    #expect(self.store.subscriberCount == 1)
    #expect(self.base.subscriberCount == 1)
    subscription.cancel()
    #expect(self.store.subscriberCount == 0)
  }

  @Test func aClosureGetsEachState() {
    let values = Recorder<Int?>()
    let subscription = self.store.subscribe { state in values.append(state.currentValue as? Int) }
    self.base.currentValue = 2
    #expect(values.elements == [nil, 2])
    subscription.cancel()
    self.base.currentValue = 3
    #expect(values.elements == [nil, 2])
    #expect(self.store.subscriberCount == 0)
  }

  // MARK: - Setting

  @Test func valuesAndErrorsAreSetByHand() {
    self.store.uncheckedSetCurrentValue(4)
    #expect(self.base.currentValue == 4)
    self.store.uncheckedSetCurrentValue(Int?.some(5))
    #expect(self.base.currentValue == 5)
    self.store.uncheckedSetCurrentValue(nil)
    #expect(self.base.currentValue == .some(nil))
    self.store.uncheckedSetCurrentValue(Int?.none)
    #expect(self.base.currentValue == nil)
    self.store.uncheckedSetResult(to: .failure(TestError()))
    #expect(self.base.state.error is TestError)
    self.store.uncheckedSetResult(to: .success(6))
    #expect(self.base.currentValue == 6)
    #expect(self.base.valueUpdateCount == 5 && self.base.errorUpdateCount == 1)
  }

  @Test func theContextOfASetSuppliesTheClock() {
    let clock = TestClock()
    var context = QueryContext()
    context.queryClock = clock
    self.store.uncheckedSetCurrentValue(4, using: context)
    #expect(self.base.valueLastUpdatedAt == clock.now())
    clock.advance(by: 4)
    self.store.uncheckedSetResult(to: .failure(TestError()), using: context)
    #expect(self.base.errorLastUpdatedAt == clock.now())
  }

  @Test func infiniteQueriesAndMutationsTakeTheirOwnValues() {
    let pages = PagesQuery().store()
    OpaqueQueryStore(erasing: pages).uncheckedSetCurrentValue(testPages(1...2))
    #expect(pages.currentValue == testPages(1...2))
    let echo = QueryStore.detached(mutation: EchoMutation(), initialValue: "x")
    OpaqueQueryStore(erasing: echo).uncheckedSetCurrentValue("y")
    #expect(echo.currentValue == "y")
    OpaqueQueryStore(erasing: echo).uncheckedSetCurrentValue(nil)
    #expect(echo.currentValue == nil)
  }

  @Test func resetIsTheStoresOwn() {
    self.base.currentValue = 3
    self.store.reset()
    #expect(self.base.currentValue == nil && self.base.valueUpdateCount == 0)
    self.base.currentValue = 3
    self.store.reset(using: QueryContext())
    #expect(self.store.currentValue == nil)
  }

  @Test func exclusiveAccessHoldsEventsBack() {
    let states = Counter()
    let subscription = self.base.subscribe(
      with: QueryEventHandler(onStateChanged: { _, _ in states.increment() })
    )
    let value = self.store.withExclusiveAccess { store in
      store.uncheckedSetCurrentValue(1)
      store.uncheckedSetCurrentValue(2)
      #expect(states.value == 1)
      return self.store.withExclusiveAccess { $0.currentValue as? Int }
    }
    #expect(value == 2)
    #expect(states.value == 3)
    #expect(throws: TestError()) {
      try self.store.withExclusiveAccess { _ in throw TestError() }
    }
    subscription.cancel()
  }

  // MARK: - Misuse

  @Test func aValueOfAnotherTypeStopsTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let store = PagesQuery().store()
      OpaqueQueryStore(erasing: store).uncheckedSetCurrentValue("seven")
    }
    try expectSentence("String", in: result)
    try expectSentence("of the store's own type", in: result)
  }

  @Test func anAbsentValueWhereThereIsNoRoomForOneStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      let store = PagesQuery().store()
      OpaqueQueryStore(erasing: store).uncheckedSetCurrentValue(nil)
    }
  }

  @Test func aResultOfAnotherTypeStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      let store = QueryStore.detached(mutation: EchoMutation())
      OpaqueQueryStore(erasing: store).uncheckedSetResult(to: .success(1))
    }
  }
}
