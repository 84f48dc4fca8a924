import TestSupport
import Testing

@testable import Query

/// `evict(afterUnused:)`, and `DefaultStoreCache(maxUnusedStores:)`.
@Suite(.warningsAreIssues) struct DefaultStoreCacheUnusedTests {
  private let time = ManualTime()
  private let changes = Recorder<QueryPath>()

  private func client(maxUnusedStores: Int? = nil) -> QueryClient {
    var context = QueryContext()
    context.turnSchedule = self.time.schedule
    return QueryClient(
      defaultContext: context,
      storeCache: QueryClient.DefaultStoreCache(
        maxUnusedStores: maxUnusedStores, memoryPressureSource: nil))
  }

  /// Records what leaves.
  private func watch(_ client: QueryClient) -> QuerySubscription {
    client.subscribe { [changes] change in
      if case .removed(let store) = change { changes.append(store.path) }
    }
  }

  private func probe(_ path: QueryPath) -> ProbeQuery { ProbeQuery(path: path) }

  // MARK: - By age

  @Test func aStoreThatIsNotUsedLeavesAfterItsTime() async {
    let client = self.client()
    let subscription = self.watch(client)
    _ = client.store(for: self.probe(["a"]).evict(afterUnused: .seconds(10)))
    _ = client.store(for: self.probe(["b"]))
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(10))
    await self.changes.wait(forCount: 1)
    #expect(self.changes.elements == [["a"]])
    #expect(client.stores(matching: []).map(\.path) == [["b"]])
    subscription.cancel()
  }

  @Test func aSubscriberKeepsItAndTheTimeBeginsWhenTheLastOneLeaves() async {
    let client = self.client()
    let subscription = self.watch(client)
    let query = self.probe(["a"]).evict(afterUnused: .seconds(10)).disableAutomaticFetching()
    let store = client.store(for: query)
    await self.time.sleeps.wait(forCount: 1)
    let first = store.subscribe(with: QueryEventHandler())
    self.time.advance(by: .seconds(100))
    #expect(client.store(for: query) === store)
    first.cancel()
    await self.time.sleeps.wait(forCount: 2)
    self.time.advance(by: .seconds(10))
    await self.changes.wait(forCount: 1)
    #expect(client.store(for: query) !== store)
    subscription.cancel()
  }

  @Test func whoeverAsksForItBeginsItsTimeAnew() async {
    let client = self.client()
    let subscription = self.watch(client)
    let query = self.probe(["a"]).evict(afterUnused: .seconds(10))
    let store = client.store(for: query)
    await self.time.sleeps.wait(forCount: 1)
    self.time.advance(by: .seconds(5))
    #expect(client.store(for: query) === store)
    self.time.advance(by: .seconds(5))
    // The timer looks, and waits for the rest.
    await self.time.sleeps.wait(forCount: 2)
    #expect(self.changes.elements.isEmpty)
    self.time.advance(by: .seconds(5))
    await self.changes.wait(forCount: 1)
    subscription.cancel()
  }

  @Test func oneThatIsLoadingStaysUntilItHasLoadedForSoLong() async throws {
    let gate = Gate()
    let client = self.client()
    let subscription = self.watch(client)
    let query = ProbeQuery(onFetch: { _, _ in
      try await gate.pass()
      return 1
    })
    .evict(afterUnused: .seconds(10))
    let fetch = Task { await client.prefetch(query) }
    await gate.arrival()
    self.time.advance(by: .seconds(100))
    #expect(client.stores(matching: []).count == 1)
    gate.open()
    await fetch.value
    await self.time.sleeps.wait { $0.last.map { $0 > self.time.now } ?? false }
    #expect(self.changes.elements.isEmpty)
    self.time.advance(by: .seconds(10))
    await self.changes.wait(forCount: 1)
    subscription.cancel()
  }

  @Test(arguments: UnbegunFetchEnd.allCases)
  fileprivate func oneWhoseScheduledFetchEndsUnbegunLeavesAfterItsTime(
    end: UnbegunFetchEnd
  ) async {
    let client = self.client()
    let subscription = self.watch(client)
    let query = self.probe(["a"]).evict(afterUnused: .seconds(10)).disableAutomaticFetching()
    let store = client.store(for: query)
    await self.time.sleeps.wait(forCount: 1)
    var task: QueryTask<Int>? = store.fetchTask()
    // The last subscriber leaves while the store is loading, so its time does not begin yet.
    store.subscribe(with: QueryEventHandler()).cancel()
    #expect(self.time.sleeperCount == 0)
    end.end(&task, of: store)
    await self.time.sleeps.wait(forCount: 2)
    self.time.advance(by: .seconds(10))
    await self.changes.wait(forCount: 1)
    #expect(client.stores(matching: []).isEmpty)
    subscription.cancel()
  }

  @Test func whoeverHoldsItGetsItBackByASubscription() async {
    let client = self.client()
    let subscription = self.watch(client)
    let query = self.probe(["a"]).evict(afterUnused: .zero).disableAutomaticFetching()
    let store = client.store(for: query)
    await self.changes.wait(forCount: 1)
    let other = store.subscribe(with: QueryEventHandler())
    #expect(client.store(for: query) === store)
    withExtendedLifetime((subscription, other)) {}
  }

  @Test(arguments: [true, false])
  fileprivate func onlyWhoseOwnPathWasClearedDoesNotComeBack(isOwn: Bool) async {
    let client = self.client()
    let subscription = self.watch(client)
    let query = self.probe(["a", 1]).evict(afterUnused: .zero).disableAutomaticFetching()
    let store = client.store(for: query)
    await self.changes.wait(forCount: 1)
    client.clearStore(with: isOwn ? ["a", 1] : ["a"])
    client.clearStores(matching: isOwn ? ["a"] : ["a", 1, 2])
    client.clearStores(matching: ["b"])
    let other = store.subscribe(with: QueryEventHandler())
    #expect((client.store(with: ["a", 1]) != nil) == !isOwn)
    withExtendedLifetime((subscription, other)) {}
  }

  @Test func aStoreThatWasClearedIsNotBroughtBack() async {
    let client = self.client()
    let query = self.probe(["a"]).evict(afterUnused: .seconds(10)).disableAutomaticFetching()
    let store = client.store(for: query)
    await self.time.sleeps.wait(forCount: 1)
    client.clearStores()
    let other = client.store(for: self.probe(["b"]).evict(afterUnused: .seconds(10)))
    self.time.advance(by: .seconds(20))
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(client.store(with: ["a"]) == nil)
    withExtendedLifetime((subscription, other)) {}
  }

  @Test func aNegativeTimeStopsTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = ProbeQuery().evict(afterUnused: .seconds(-1))
    }
    try expectSentence("ProbeQuery: evict(afterUnused:)", in: result)
  }

  // MARK: - By number

  @Test func ofMoreThanTheLimitTheLeastRecentlyUsedLeaves() {
    let client = self.client(maxUnusedStores: 2)
    let subscription = self.watch(client)
    _ = client.store(for: self.probe(["a"]))
    _ = client.store(for: self.probe(["b"]))
    _ = client.store(for: self.probe(["a"]))
    _ = client.store(for: self.probe(["c"]))
    #expect(self.changes.elements == [["b"]])
    #expect(client.stores(matching: []).count == 2)
    subscription.cancel()
  }

  @Test func thoseWithSubscribersDoNotCount() {
    let client = self.client(maxUnusedStores: 1)
    let changes = self.watch(client)
    let stores = ["a", "b", "c"].map {
      client.store(for: self.probe([$0]).disableAutomaticFetching())
    }
    #expect(self.changes.elements == [["a"], ["b"]])
    // They come back.
    let subscriptions = stores.map { $0.subscribe(with: QueryEventHandler()) }
    #expect(client.stores(matching: []).count == 3)
    subscriptions[1].cancel()
    subscriptions[0].cancel()
    #expect(self.changes.elements == [["a"], ["b"], ["b"]])
    withExtendedLifetime((changes, subscriptions)) {}
  }

  @Test func thoseThatWereClearedDoNotCount() {
    let client = self.client(maxUnusedStores: 2)
    _ = client.store(for: self.probe(["a"]))
    var held = [client.store(for: self.probe(["b"]))]
    client.clearStore(with: ["b"])
    held.append(client.store(for: self.probe(["c"])))
    #expect(client.stores(matching: []).count == 2)
    _ = client.withStores { stores, _ in stores.removeValue(forPath: ["c"]) }
    _ = client.store(for: self.probe(["d"]))
    #expect(client.stores(matching: []).count == 2)
    withExtendedLifetime(held) {}
  }

  @Test(arguments: [true, false])
  func oneThatHasLeftTakesNoOthersPlace(isCleared: Bool) async throws {
    let client = self.client(maxUnusedStores: 2)
    let left = client.store(for: self.probe(["left"]).disableAutomaticFetching())
    if isCleared { client.clearStore(with: ["left"]) }
    _ = client.store(for: self.probe(["a"]))
    _ = client.store(for: self.probe(["b"]))
    let subscription = self.watch(client)
    try await left.fetch()
    if isCleared { left.subscribe(with: QueryEventHandler()).cancel() }
    #expect(self.changes.elements.isEmpty)
    #expect(Set(client.stores(matching: []).map(\.path)) == [["a"], ["b"]])
    subscription.cancel()
  }

  @Test func oneThatIsLoadingDoesNotCount() async {
    let gate = Gate()
    let client = self.client(maxUnusedStores: 1)
    let subscription = self.watch(client)
    let query = ProbeQuery(onFetch: { _, _ in
      try await gate.pass()
      return 1
    })
    let fetch = Task { await client.prefetch(query) }
    await gate.arrival()
    _ = client.store(for: self.probe(["a"]))
    #expect(self.changes.elements.isEmpty)
    gate.open()
    await fetch.value
    await self.changes.wait(forCount: 1)
    #expect(self.changes.elements == [["a"]])
    subscription.cancel()
  }

  @Test(arguments: UnbegunFetchEnd.allCases)
  fileprivate func oneWhoseScheduledFetchEndsUnbegunCountsAgain(end: UnbegunFetchEnd) {
    let client = self.client(maxUnusedStores: 1)
    let subscription = self.watch(client)
    let store = client.store(for: self.probe(["a"]).disableAutomaticFetching())
    var task: QueryTask<Int>? = store.fetchTask()
    store.subscribe(with: QueryEventHandler()).cancel()
    end.end(&task, of: store)
    _ = client.store(for: self.probe(["b"]))
    #expect(self.changes.elements == [["a"]])
    #expect(client.stores(matching: []).map(\.path) == [["b"]])
    subscription.cancel()
  }

  @Test func withNoneAtAllAStoreIsThereForAsLongAsItHasSubscribers() {
    let client = self.client(maxUnusedStores: 0)
    let store = client.store(for: ProbeQuery().disableAutomaticFetching())
    #expect(client.stores(matching: []).isEmpty)
    let subscription = store.subscribe(with: QueryEventHandler())
    #expect(client.stores(matching: []).count == 1)
    subscription.cancel()
    #expect(client.stores(matching: []).isEmpty)
  }

  @Test func oneThatFoundAnotherInItsPlaceComesBackWhenThatHasLeft() {
    let client = self.client(maxUnusedStores: 0)
    let query = ProbeQuery().disableAutomaticFetching()
    let first = client.store(for: query)
    let second = client.store(for: query)
    let subscription = second.subscribe(with: QueryEventHandler())
    first.subscribe(with: QueryEventHandler()).cancel()
    #expect(client.store(for: query) === second)
    subscription.cancel()
    #expect(client.stores(matching: []).isEmpty)
    let another = first.subscribe(with: QueryEventHandler())
    #expect(client.store(for: query) === first)
    another.cancel()
  }

  @Test func whoeverAsksForAStoreWaitsForNoOther() {
    let client = self.client(maxUnusedStores: 1)
    let query = self.probe(["a"]).evict(afterUnused: .seconds(10))
    let busy = client.store(for: query)
    busy.withExclusiveAccess { _ in
      #expect(isDoneElsewhere { _ = client.store(for: query) })
      #expect(isDoneElsewhere { _ = client.store(for: self.probe(["b"])) })
      #expect(isDoneElsewhere { _ = client.store(for: self.probe(["c"])) })
      // It is in use while it is locked.
      #expect(client.store(with: ["a"]) != nil)
    }
    _ = client.store(for: self.probe(["d"]))
    #expect(client.stores(matching: []).map(\.path) == [["d"]])
  }

  @Test func storesAreUsedAndEvictedOnManyThreads() async {
    let client = self.client(maxUnusedStores: 5)
    await runOnThreads(4) { thread in
      for number in 0..<500 {
        let query = ProbeQuery(path: [(number * 7 + thread) % 20]).disableAutomaticFetching()
        let store = client.store(for: query)
        let subscription = store.subscribe(with: QueryEventHandler())
        store.withExclusiveAccess { _ in
          _ = client.store(for: ProbeQuery(path: [number % 20]).disableAutomaticFetching())
        }
        subscription.cancel()
      }
    }
    // A use sees to the limit.
    _ = client.store(for: self.probe(["last"]))
    #expect(client.stores(matching: []).count <= 5)
  }

  @Test func whatWasPersistedIsThereAgain() {
    var context = QueryContext()
    context.queryStorage = MemoryQueryStorage()
    let client = QueryClient(
      defaultContext: context,
      storeCache: QueryClient.DefaultStoreCache(maxUnusedStores: 1, memoryPressureSource: nil))
    client.store(for: ProbeQuery().persisted()).currentValue = 5
    _ = client.store(for: self.probe(["other"]))
    #expect(client.store(with: ["probe"]) == nil)
    #expect(client.store(for: ProbeQuery().persisted()).currentValue == 5)
  }

  @Test func manyStoresAreKeptToTheLimit() {
    let client = self.client(maxUnusedStores: 100)
    for number in 0..<20_000 { _ = client.store(for: self.probe([number])) }
    #expect(Set(client.stores(matching: []).map(\.path)) == Set((19_900..<20_000).map { [$0] }))
  }

  @Test func aNegativeLimitStopsTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = QueryClient.DefaultStoreCache(maxUnusedStores: -1)
    }
    try expectSentence("DefaultStoreCache(maxUnusedStores:)", in: result)
  }

  // MARK: - The order of uses

  @Test(arguments: SeededGenerator.seeds(4))
  func theOrderIsThatOfAList(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let stores = (0..<20).map {
      QueryStore.detached(query: ProbeQuery(path: [$0]), initialValue: nil)
    }
    var (unused, model) = (UnusedStores(), [Int]())
    for _ in 0..<5_000 {
      let number = Int.random(in: 0..<20, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        unused.use(stores[number])
        model.removeAll { $0 == number }
        model.append(number)
      case 6..<9:
        unused.forget(stores[number])
        model.removeAll { $0 == number }
      default:
        let taken = unused.takeOldest(leaving: number)
        let expected = model.prefix(max(model.count - number, 0))
        model.removeFirst(expected.count)
        #expect(taken.map(\.path) == expected.map { stores[$0].path })
      }
      #expect(unused.count == model.count)
    }
  }
}

/// How a fetch ends that was scheduled and has not begun.
private enum UnbegunFetchEnd: CaseIterable {
  case drop, cancel, cancelFetches, reset

  func end(_ task: inout QueryTask<Int>?, of store: QueryStore<QueryState<Int?, Int>>) {
    switch self {
    case .drop: task = nil
    case .cancel: task?.cancel()
    case .cancelFetches: store.cancelFetches()
    case .reset: store.reset()
    }
  }
}
