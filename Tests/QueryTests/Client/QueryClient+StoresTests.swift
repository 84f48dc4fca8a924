import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryClientStoresTests {
  private let client = QueryClient.quiet()

  private func fill() {
    for path in [["a"], ["a", 1], ["a", 1, "x"], ["b", 1]] as [QueryPath] {
      _ = self.client.store(for: ProbeQuery(path: path))
    }
    _ = self.client.store(for: ProbeTextQuery(path: ["a", 2]))
  }

  private func paths(_ stores: QueryPathableCollection<OpaqueQueryStore>) -> Set<QueryPath> {
    Set(stores.map(\.path))
  }

  // MARK: - Look-ups

  @Test func theExactPathFindsOneStore() {
    self.fill()
    let store = self.client.store(for: ProbeQuery(path: ["a", 1]))
    #expect(
      self.client.store(with: ["a", 1])?.base as? QueryStore<QueryState<Int?, Int>> === store)
    #expect(self.client.store(with: ["a", 3]) == nil)
    #expect(self.client.store(with: []) == nil)
  }

  @Test func aPrefixFindsAllThatBeginSo() {
    self.fill()
    #expect(
      self.paths(self.client.stores(matching: ["a"])) == [
        ["a"], ["a", 1], ["a", 1, "x"], ["a", 2],
      ]
    )
    #expect(self.paths(self.client.stores(matching: ["a", 1])) == [["a", 1], ["a", 1, "x"]])
    #expect(self.paths(self.client.stores(matching: ["c"])) == [])
    #expect(self.client.stores(matching: []).count == 5)
  }

  @Test func otherStateTypesAreLeftOut() {
    self.fill()
    let texts = self.client.stores(matching: [], of: QueryState<String?, String>.self)
    #expect(texts.map(\.path) == [["a", 2]])
    let numbers = self.client.stores(matching: ["a"], of: QueryState<Int?, Int>.self)
    #expect(Set(numbers.map(\.path)) == [["a"], ["a", 1], ["a", 1, "x"]])
    #expect(
      self.client.stores(matching: [], of: InfiniteQueryState<Int, String>.self).isEmpty
    )
  }

  // MARK: - Clearing

  @Test func clearingForgetsAllThatBeginSo() {
    self.fill()
    self.client.clearStores(matching: ["a", 1])
    #expect(self.paths(self.client.stores(matching: [])) == [["a"], ["a", 2], ["b", 1]])
    self.client.clearStores()
    #expect(self.client.stores(matching: []).isEmpty)
  }

  @Test func clearingOneReturnsIt() {
    self.fill()
    #expect(self.client.clearStore(with: ["a"])?.path == ["a"])
    #expect(self.client.clearStore(with: ["a"]) == nil)
    #expect(self.client.stores(matching: []).count == 4)
  }

  @Test func aClearedStoreThatSomebodyHoldsGoesOn() async throws {
    let store = self.client.store(for: ProbeQuery())
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = store.subscribe(with: collector.handler)
    self.client.clearStores()
    store.currentValue = 5
    #expect(collector.states.last?.currentValue == 5)
    #expect(try await store.fetch() == 1)
    let fresh = self.client.store(for: ProbeQuery())
    #expect(fresh !== store)
    #expect(fresh.currentValue == nil)
    subscription.cancel()
  }

  // MARK: - Releasing

  @Test(arguments: 0..<4) func aStoreThatLeavesIsReleasedAfterTheLock(way: Int) {
    let results = Recorder<Bool>()
    let client = self.client
    let query = ProbeQuery(onSetup: { context in
      context.kept = ReleaseProbe { [weak weakClient = client] in
        let client = weakClient
        results.append(
          isDoneElsewhere {
            _ = client?.store(for: ProbeTextQuery())
            _ = client?.defaultContext
          }
        )
      }
    })
    _ = client.store(for: query)
    switch way {
    case 0: client.clearStores()
    case 1: client.clearStore(with: ["probe"])
    case 2: client.withStores { stores, _ in stores.removeAll() }
    default: client.withStores(of: QueryState<Int?, Int>.self) { stores, _ in stores.removeAll() }
    }
    #expect(results.elements == [true])
    #expect(client.store(with: ["text"]) != nil)
  }
}
