import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct QueryClientStoreCacheTests {
  private let source = ManualPressure()

  private func client() -> QueryClient {
    QueryClient(storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: self.source))
  }

  private func query(behind gate: Gate) -> ProbeQuery {
    probe { _, _ in
      try await gate.pass()
      return 1
    }
  }

  // MARK: - Eviction

  @Test func pressureDropsStoresWithoutSubscribers() {
    let client = self.client()
    let subscribed = client.store(for: ProbeQuery(path: ["subscribed"]))
    let subscription = subscribed.subscribe(with: QueryEventHandler())
    _ = client.store(for: ProbeQuery(path: ["idle"]))
    self.source.send(.warning)
    #expect(client.stores(matching: []).map(\.path) == [["subscribed"]])
    #expect(client.store(for: ProbeQuery(path: ["subscribed"])) === subscribed)
    subscription.cancel()
    self.source.send(.warning)
    #expect(client.stores(matching: []).isEmpty)
  }

  @Test(
    arguments: [.normal, .warning, .critical] as [MemoryPressure],
    [.defaultEvictable, [], .all, .normal, .critical] as [MemoryPressure]
  )
  func aStoreGoesAtThePressuresOfItsContext(sent: MemoryPressure, evictable: MemoryPressure) {
    let client = self.client()
    _ = client.store(for: ProbeQuery().evictWhen(pressure: evictable))
    self.source.send(sent)
    #expect(client.stores(matching: []).isEmpty == evictable.contains(sent))
  }

  @Test func aStoreThatIsHeldGoesOnAndAFreshOneTakesItsPlace() {
    let client = self.client()
    let store = client.store(for: ProbeQuery())
    store.currentValue = 5
    self.source.send(.critical)
    #expect(store.currentValue == 5)
    #expect(client.store(for: ProbeQuery()).currentValue == nil)
  }

  @Test func aStoreThatIsSubscribedToWhileItIsBeingEvictedStays() {
    let cache = QueryClient.DefaultStoreCache(memoryPressureSource: self.source)
    let client = QueryClient(storeCache: cache)
    let store = client.store(for: ProbeQuery())
    let idle = client.store(for: ProbeTextQuery())
    let retired = cache.retire(at: .critical)
    #expect(retired.count == 2)
    let subscription = store.subscribe(with: QueryEventHandler())
    cache.remove(retired)
    #expect(client.store(for: ProbeQuery()) === store)
    #expect(client.store(for: ProbeTextQuery()) !== idle)
    subscription.cancel()
  }

  /// Also if it was subscribed to after the cache has looked which stores have no subscribers.
  @Test func aStoreWithASubscriberIsNotGivenUp() {
    let client = self.client()
    let store = client.store(for: ProbeQuery())
    let comebacks = Counter()
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(!store.retire { _ in comebacks.increment() })
    subscription.cancel()
    #expect(store.retire { _ in comebacks.increment() })
    let again = store.subscribe(with: QueryEventHandler())
    #expect(comebacks.value == 1)
    #expect(!store.retire { _ in comebacks.increment() })
    again.cancel()
  }

  @Test func anEvictedStoreThatIsSubscribedToComesBack() {
    let client = self.client()
    let store = client.store(for: ProbeQuery())
    self.source.send(.critical)
    #expect(client.stores(matching: []).isEmpty)
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(client.store(for: ProbeQuery()) === store)
    // Another time, too.
    subscription.cancel()
    self.source.send(.critical)
    #expect(client.stores(matching: []).isEmpty)
    let again = store.subscribe(with: QueryEventHandler())
    #expect(client.store(for: ProbeQuery()) === store)
    again.cancel()
  }

  @Test func anEvictedStoreDoesNotComeBackWhereItsPathIsTakenOrStoresWereCleared() {
    let client = self.client()
    let (first, text) = (client.store(for: ProbeQuery()), client.store(for: ProbeTextQuery()))
    self.source.send(.critical)
    let second = client.store(for: ProbeQuery())
    let subscriptions = [
      first.subscribe(with: QueryEventHandler()), second.subscribe(with: QueryEventHandler()),
    ]
    #expect(client.store(for: ProbeQuery()) === second)
    client.clearStores()
    let subscription = text.subscribe(with: QueryEventHandler())
    #expect(client.stores(matching: []).isEmpty)
    withExtendedLifetime((subscription, subscriptions)) {}
  }

  @Test(arguments: [true, false])
  func anEvictedStoreThatIsLoadingIsReset(hasSuccessor: Bool) async {
    let gate = Gate()
    let client = self.client()
    let query = self.query(behind: gate)
    let store = client.store(for: query)
    let fetch = Task { await client.prefetch(query) }
    await gate.arrival()
    self.source.send(.critical)
    #expect(client.stores(matching: []).isEmpty)
    if hasSuccessor { #expect(client.store(for: query) !== store) }
    client.reset(matching: ["probe"])
    gate.open()
    await fetch.value
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 0)
  }

  /// Since its answer is what the server had before.
  @Test func anEvictedStoreThatIsLoadingIsInvalidated() async throws {
    let gate = Gate()
    let client = self.client()
    let query = self.query(behind: gate)
    let store = client.store(for: query)
    let fetch = Task { await client.prefetch(query) }
    await gate.arrival()
    self.source.send(.critical)
    client.invalidate()
    gate.open()
    await fetch.value
    #expect(store.currentValue == 1)
    #expect(store.isStale)
  }

  @Test(arguments: [true, false])
  func anEvictedStoreThatFetchesIsCancelled(hasSuccessor: Bool) async throws {
    let gate = Gate()
    let client = self.client()
    let query = self.query(behind: gate)
    let store = client.store(for: query)
    self.source.send(.critical)
    let successor = hasSuccessor ? client.store(for: query) : nil
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    #expect(client.store(with: query.path)?.erased === successor)
    client.cancelFetches()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    withExtendedLifetime(gate) {}
  }

  /// What reaches all stores looks at the client's first, and then at the others.
  @Test func anEvictedStoreThatComesBackBetweenTwoLooksIsReached() async throws {
    let gate = Gate()
    let client = self.client()
    let query = self.query(behind: gate)
    let store = client.store(for: query)
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    self.source.send(.critical)
    let stores = client.stores(matching: [])
    #expect(stores.isEmpty)
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(client.store(with: query.path)?.erased === store)
    let departed = client.defaultCache?.departedStores(matching: [], besides: stores)
    #expect(departed?.contains { $0 === store } == true)
    gate.open()
    _ = try await fetch.value
    withExtendedLifetime(subscription) {}
  }

  @Test func anEvictedStoreIsReleasedAfterTheLock() {
    let results = Recorder<Bool>()
    let client = self.client()
    let query = ProbeQuery(onSetup: { context in
      context.kept = ReleaseProbe { [weak weakClient = client] in
        let client = weakClient
        results.append(isDoneElsewhere { _ = client?.store(for: ProbeTextQuery()) })
      }
    })
    _ = client.store(for: query)
    self.source.send(.critical)
    #expect(results.elements == [true])
    #expect(client.store(with: ["text"]) != nil)
  }

  @Test func theCacheListensAsLongAsItsClientLives() {
    var client: QueryClient? = self.client()
    weak let released = client
    #expect(self.source.handlerCount == 1)
    client = nil
    #expect(released == nil)
    #expect(self.source.handlerCount == 0)
  }

  // MARK: - Caches of one's own

  @Test func aCacheOfOnesOwnKeepsTheStores() async {
    let accesses = Counter()
    let client = QueryClient(storeCache: CountingCache(accesses: accesses))
    let store = client.store(for: ProbeQuery(), initialValue: 3)
    #expect(accesses.value == 2)
    #expect(client.store(for: ProbeQuery()) === store)
    #expect(client.store(with: ["probe"])?.currentValue as? Int == 3)
    client.withStores { stores, create in
      stores.update(OpaqueQueryStore(erasing: create(for: ProbeTextQuery())))
      #expect(client.store(for: ProbeQuery()) === store)
    }
    #expect(client.stores(matching: []).paths == [["probe"], ["text"]])
    client.clearStores(matching: ["probe"])
    #expect(client.stores(matching: []).paths == [["text"]])
  }

  @Test func aCacheOfOnesOwnIsNotHeldWhileAUsersCodeRuns() {
    let results = Recorder<Bool>()
    let client = QueryClient(storeCache: CountingCache(accesses: Counter()))
    let check: @Sendable () -> Void = { [weak weakClient = client] in
      let client = weakClient
      results.append(isDoneElsewhere { _ = client?.store(with: ["text"]) })
    }
    let query = ProbeQuery(onSetup: { context in
      check()
      context.kept = ReleaseProbe(check)
    })
    .controlled(
      by: ProbeController<QueryState<Int?, Int>> { _ in
        check()
        return QuerySubscription(onCancel: check)
      }
    )
    _ = client.store(for: query)
    client.clearStores()
    #expect(results.elements == [true, true, true, true])
  }

  @Test func aCacheMayForgetAtOnce() {
    let client = QueryClient(storeCache: ForgetfulCache())
    let store = client.store(for: ProbeQuery())
    #expect(client.store(for: ProbeQuery()) !== store)
    #expect(client.stores(matching: []).isEmpty)
  }
}

private struct CountingCache: QueryClient.StoreCache {
  let accesses: Counter
  var stores = QueryPathableCollection<OpaqueQueryStore>()

  init(accesses: Counter) { self.accesses = accesses }

  mutating func withStores<T>(
    _ body: (inout sending QueryPathableCollection<OpaqueQueryStore>) throws -> sending T
  ) rethrows -> sending T {
    self.accesses.increment()
    var stores = self.stores
    defer { self.stores = stores }
    return try body(&stores)
  }
}

private struct ForgetfulCache: QueryClient.StoreCache {
  mutating func withStores<T>(
    _ body: (inout sending QueryPathableCollection<OpaqueQueryStore>) throws -> sending T
  ) rethrows -> sending T {
    var stores = QueryPathableCollection<OpaqueQueryStore>()
    return try body(&stores)
  }
}
