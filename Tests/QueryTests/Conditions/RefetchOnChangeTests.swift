import Query
import TestSupport
import Testing

private typealias Store = QueryStore<QueryState<Int?, Int>>

@Suite(.warningsAreIssues) struct RefetchOnChangeTests {
  private let gate = Gate()
  private let fetches = Counter()

  /// A query whose fetches stop at the gate.
  private var query: ProbeQuery {
    ProbeQuery(onFetch: { [gate, fetches] _, _ in
      let number = fetches.increment()
      try await gate.pass()
      return number
    })
  }

  private func store(
    _ condition: some FetchCondition,
    initialValue: Int? = nil
  ) -> Store {
    QueryStore.detached(
      query: self.query.refetchOnChange(of: condition).staleWhenNoValue()
        .enableAutomaticFetching(onlyWhen: .always(true)),
      initialValue: initialValue
    )
  }

  /// A subscription whose automatic fetch has ended, so that only refetches load.
  private func subscribe(to store: Store) -> QuerySubscription {
    let value = store.currentValue
    store.currentValue = 0
    let subscription = store.subscribe(with: QueryEventHandler())
    store.currentValue = value
    return subscription
  }

  // MARK: - When

  @Test func becomingSatisfiedRefetches() async {
    let condition = ManualCondition(false)
    let store = self.store(condition)
    let subscription = self.subscribe(to: store)
    #expect(!store.isLoading)
    condition.send(true)
    #expect(store.isLoading, "scheduled when the change has been told")
    self.gate.open()
    _ = await store.states.first { $0.state.currentValue == 1 && !$0.state.isLoading }
    subscription.cancel()
    #expect(self.fetches.value == 1)
  }

  @Test func withoutSubscribersNothingHappens() {
    let condition = ManualCondition(false)
    let store = self.store(condition)
    condition.send(true)
    #expect(!store.isLoading)
  }

  @Test func aValueThatIsNotStaleStays() {
    let condition = ManualCondition(false)
    let store = self.store(condition, initialValue: 5)
    let subscription = self.subscribe(to: store)
    condition.send(true)
    #expect(!store.isLoading)
    subscription.cancel()
  }

  @Test func aStoreThatDoesNotFetchByItselfStays() {
    let condition = ManualCondition(false)
    let store = QueryStore.detached(
      query: self.query.refetchOnChange(of: condition),
      initialValue: nil
    )
    let subscription = store.subscribe(with: QueryEventHandler())
    condition.send(true)
    #expect(!store.isLoading)
    subscription.cancel()
  }

  @Test func anEqualFirstEmissionIsNoChange() {
    let store = self.store(.always(true, shouldEmitInitialValue: true))
    #expect(!store.isLoading)
    let observer = MockNetworkObserver(initialStatus: .connected)
    let connected = self.store(.connected(to: observer))
    let subscription = self.subscribe(to: connected)
    observer.send(status: .connected)
    #expect(!connected.isLoading)
    subscription.cancel()
  }

  @Test func aDifferingFirstEmissionIsAChange() async {
    // Satisfied when the store is made, and not since before its first emission.
    let condition = ManualCondition(true)
    let store = self.store(condition)
    let subscription = self.subscribe(to: store)
    condition.send(false)
    #expect(!store.isLoading)
    condition.send(true)
    #expect(store.isLoading)
    subscription.cancel()
    self.gate.open()
  }

  @Test func repeatedEmissionsRefetchOnce() {
    let condition = ManualCondition(false)
    let store = self.store(condition)
    let subscription = self.subscribe(to: store)
    for _ in 0..<3 { condition.send(true) }
    #expect(store.activeTasks.count == 1)
    subscription.cancel()
    self.gate.open()
  }

  @Test func aConditionThatEndsBeforeItIsSubscribedToRefetchesWhenItReturns() {
    // It tells nobody of its end: nobody listens yet.
    let condition = ManualCondition(true)
    let store = self.store(HookedCondition(condition) { _ in condition.send(false) })
    let subscription = self.subscribe(to: store)
    condition.send(true)
    #expect(store.isLoading)
    subscription.cancel()
    self.gate.open()
  }

  @Test func whatIsEmittedDuringTheSubscriptionCountsMoreThanTheAnswerAfterIt() {
    // It still answers that it is satisfied, and has told already that it is not.
    let condition = ManualCondition(true)
    let store = self.store(HookedCondition(condition) { observer in observer(false) })
    let subscription = self.subscribe(to: store)
    condition.send(true)
    #expect(store.isLoading)
    subscription.cancel()
    self.gate.open()
  }

  // MARK: - Cancelling

  @Test func theEndOfTheConditionCancelsTheRefetch() async {
    let condition = ManualCondition(false)
    let store = self.store(condition)
    let subscription = self.subscribe(to: store)
    condition.send(true)
    await self.gate.arrival()
    let states = store.states
    condition.send(false)
    _ = await states.first { !$0.state.isLoading }
    // No caller asked for the refetch, so its end is no error of the query.
    #expect(store.error == nil && store.errorUpdateCount == 0)
    subscription.cancel()
  }

  @Test func theEndOfTheConditionCancelsARefetchBeforeItRan() {
    let condition = ManualCondition(false)
    let store = self.store(condition)
    let subscription = self.subscribe(to: store)
    condition.send(true)
    condition.send(false)
    condition.send(true)
    condition.send(false)
    #expect(store.activeTasks.allSatisfy { $0.isCancelled })
    subscription.cancel()
  }

  @Test func aFetchByHandIsNotCancelled() async throws {
    let condition = ManualCondition(true)
    let store = self.store(condition)
    let subscription = self.subscribe(to: store)
    let task = store.fetchTask()
    let fetch = Task { try await task.runIfNeeded() }
    await self.gate.arrival()
    condition.send(false)
    #expect(task.isRunning)
    self.gate.open()
    #expect(try await fetch.value == 1)
    subscription.cancel()
  }

  @Test func severalStoresOfOneQueryValueDoNotDisturbOneAnother() async throws {
    let condition = ContextCondition()
    let query = self.query.refetchOnChange(of: condition)
      .enableAutomaticFetching(onlyWhen: .always(true)).staleWhenNoValue()
    let stores = (0..<2).map { index -> Store in
      var context = QueryContext()
      context.maxRetries = index
      return .detached(query: query, initialValue: nil, initialContext: context)
    }
    let subscriptions = stores.map { self.subscribe(to: $0) }
    condition.send(true, to: 0)
    #expect(stores.map(\.isLoading) == [true, false])
    condition.send(true, to: 1)
    await self.gate.arrival(2)
    let second = try #require(stores[1].activeTasks.first)
    condition.send(false, to: 0)
    _ = await stores[0].states.first { !$0.state.isLoading }
    #expect(stores[0].error == nil)
    #expect(second.isRunning)
    #expect(stores[1].isLoading)
    self.gate.open()
    _ = await stores[1].states.first { !$0.state.isLoading }
    #expect(stores[1].status.isSuccessful)
    for subscription in subscriptions { subscription.cancel() }
  }

  // MARK: - Lifetime

  @Test func theObservationEndsWithTheStore() {
    let condition = ManualCondition(false)
    var store: Store? = self.store(condition)
    #expect(condition.observerCount == 1)
    weak let released = store
    store = nil
    #expect(released == nil)
    #expect(condition.observerCount == 0)
  }

  @Test func anEmissionThatIsOnItsWayWhenTheStoreIsReleasedIsNoMistake() async {
    let condition = ContextCondition()
    var store: Store? = self.store(condition)
    let observers = condition.observers(of: 0)
    #expect(observers.count == 1)
    weak let released = store
    store = nil
    #expect(released == nil)
    await withExpectedWarnings([]) { for observer in observers { observer(true) } }
  }
}

/// A condition that does something before it counts who subscribes to it.
private struct HookedCondition: FetchCondition {
  typealias Observer = @Sendable (Bool) -> Void

  let condition: ManualCondition
  let onSubscribe: @Sendable (Observer) -> Void

  init(_ condition: ManualCondition, onSubscribe: @escaping @Sendable (Observer) -> Void) {
    self.condition = condition
    self.onSubscribe = onSubscribe
  }

  func isSatisfied(in context: QueryContext) -> Bool { self.condition.isSatisfied(in: context) }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping Observer
  ) -> QuerySubscription {
    self.onSubscribe(observer)
    return self.condition.subscribe(in: context, observer)
  }
}

/// A condition with a value for each `maxRetries` of a context.
private final class ContextCondition: FetchCondition {
  private let subscriptions = Recorder<(index: Int, observer: @Sendable (Bool) -> Void)>()

  func observers(of index: Int) -> [@Sendable (Bool) -> Void] {
    self.subscriptions.elements.filter { $0.index == index }.map(\.observer)
  }

  func send(_ value: Bool, to index: Int) {
    for observer in self.observers(of: index) { observer(value) }
  }

  func isSatisfied(in context: QueryContext) -> Bool { false }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    self.subscriptions.append((context.maxRetries, observer))
    return .empty
  }
}
