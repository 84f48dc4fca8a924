import TestSupport
import Testing

@testable import Query

/// `subscribe(matching:onChange:)`.
@Suite(.warningsAreIssues) struct StoreWatchTests {
  private let client = QueryClient()
  private let changes = Recorder<String>()

  private func watch(_ path: QueryPath = [], of client: QueryClient? = nil) -> QuerySubscription {
    (client ?? self.client).subscribe(matching: path) { [changes] in changes.append(text($0)) }
  }

  @Test func storesThatComeAndGoAreTold() {
    _ = self.client.store(for: ProbeQuery(path: ["a", 0]))
    let subscription = self.watch(["a"])
    _ = self.client.store(for: ProbeQuery(path: ["a", 1]))
    _ = self.client.store(for: ProbeQuery(path: ["b", 1]))
    _ = self.client.store(for: ProbeQuery(path: ["a", 1]))
    self.client.clearStore(with: ["a", 0])
    self.client.clearStore(with: ["a", 0])
    self.client.clearStores()
    #expect(self.changes.elements == [#"+["a", 1]"#, #"-["a", 0]"#, #"-["a", 1]"#])
    subscription.cancel()
    _ = self.client.store(for: ProbeQuery(path: ["a", 2]))
    #expect(self.changes.elements.count == 3)
  }

  @Test func theStoreOfAChangeIsTheOneOfTheClient() {
    let stores = Recorder<OpaqueQueryStore>()
    let subscription = self.client.subscribe { stores.append($0.store) }
    let store = self.client.store(for: ProbeQuery())
    #expect(
      stores.elements.map { $0.base as? QueryStore<QueryState<Int?, Int>> === store } == [true])
    subscription.cancel()
  }

  @Test func pressureAndSubscribingAgainAreTold() {
    let source = ManualPressure()
    let cache = QueryClient.DefaultStoreCache(memoryPressureSource: source)
    let client = QueryClient(storeCache: cache)
    let subscription = self.watch(of: client)
    let store = client.store(for: ProbeQuery().disableAutomaticFetching())
    source.send(.critical)
    let other = store.subscribe(with: QueryEventHandler())
    #expect(self.changes.elements == [#"+["probe"]"#, #"-["probe"]"#, #"+["probe"]"#])
    withExtendedLifetime((subscription, other)) {}
  }

  @Test func whatIsEditedIsToldAfterTheLock() {
    _ = self.client.store(for: ProbeQuery(path: ["old"]))
    let (client, changes) = (self.client, self.changes)
    let subscription = client.subscribe { change in
      #expect(isDoneElsewhere { _ = client.stores(matching: []) })
      changes.append(text(change))
    }
    client.withStores { stores, create in
      stores.removeAll()
      stores.update(OpaqueQueryStore(erasing: create(for: ProbeQuery(path: ["new"]))))
      _ = client.store(for: ProbeQuery(path: ["asked"]))
      #expect(changes.elements.isEmpty)
    }
    #expect(changes.elements.first == #"+["asked"]"#)
    #expect(Set(changes.elements.dropFirst()) == [#"-["old"]"#, #"+["new"]"#])
    subscription.cancel()
  }

  @Test func aStoreThatIsReplacedGoesBeforeTheOtherComes() {
    let cache = QueryClient.DefaultStoreCache(memoryPressureSource: nil)
    let client = QueryClient(storeCache: cache)
    _ = client.store(for: ProbeQuery())
    let subscription = self.watch(of: client)
    let other = OpaqueQueryStore(
      erasing: QueryStore.detached(query: ProbeQuery(), initialValue: nil))
    // The cache can be edited without the client.
    cache.withStores { $0.update(other) }
    #expect(self.changes.elements == [#"-["probe"]"#, #"+["probe"]"#])
    subscription.cancel()
  }

  @Test func aCacheOfOnesOwnIsHeardThroughTheClient() {
    let client = QueryClient(storeCache: PlainCache())
    let subscription = self.watch(of: client)
    _ = client.store(for: ProbeQuery())
    client.clearStores()
    #expect(self.changes.elements == [#"+["probe"]"#, #"-["probe"]"#])
    subscription.cancel()
  }

  @Test func aHandlerMayChangeTheStoresAndLeave() {
    let subscription = Locked(QuerySubscription.empty)
    let (client, changes) = (self.client, self.changes)
    let first = client.subscribe { change in
      changes.append(text(change))
      if change.store.path == ["a"] { _ = client.store(for: ProbeQuery(path: ["b"])) }
      if change.store.path == ["b"] { subscription.withLock { $0 }.cancel() }
    }
    subscription.withLock { $0 = first }
    _ = client.store(for: ProbeQuery(path: ["a"]))
    _ = client.store(for: ProbeQuery(path: ["c"]))
    #expect(changes.elements == [#"+["a"]"#, #"+["b"]"#])
  }

  @Test func fromManyThreadsTheChangesAddUpToTheStores() async {
    let present = Locked([String: Int]())
    let subscription = self.client.subscribe { change in
      present.withLock { present in
        switch change {
        case .added(let store): present["\(store.path)", default: 0] += 1
        case .removed(let store): present["\(store.path)", default: 0] -= 1
        }
      }
    }
    let client = self.client
    await runOnThreads(4) { thread in
      for number in 0..<200 {
        _ = client.store(for: ProbeQuery(path: [number % 10]))
        if number % 3 == thread % 3 { client.clearStore(with: [number % 10]) }
      }
    }
    let expected = Set(client.stores(matching: []).map { "\($0.path)" })
    #expect(Set(present.withLock { $0 }.filter { $0.value == 1 }.keys) == expected)
    #expect(present.withLock { $0 }.values.allSatisfy { (0...1).contains($0) })
    subscription.cancel()
  }
}

private func text(_ change: QueryClient.StoreChange) -> String {
  switch change {
  case .added(let store): "+\(store.path.short)"
  case .removed(let store): "-\(store.path.short)"
  }
}

extension QueryPath {
  fileprivate var short: String {
    "\(self)".replacing("QueryPath(", with: "").replacing(")", with: "")
  }
}

private struct PlainCache: QueryClient.StoreCache {
  private var stores = QueryPathableCollection<OpaqueQueryStore>()

  mutating func withStores<T>(
    _ body: (inout sending QueryPathableCollection<OpaqueQueryStore>) throws -> sending T
  ) rethrows -> sending T {
    try body(&self.stores)
  }
}
