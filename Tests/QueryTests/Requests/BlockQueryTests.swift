import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct BlockQueryTests {
  @Test func theClosureFetchesWithTheContextOfTheFetch() async throws {
    let id = 3
    let query = BlockQuery(["posts", id]) { context in "post \(id) \(context.maxRetries)" }
    #expect(query.path == ["posts", 3])
    let store = QueryStore.detached(query: query, initialValue: nil)
    var context = QueryContext()
    context.maxRetries = 8
    #expect(try await store.fetch(using: context) == "post 3 8")
    #expect(store.currentValue == "post 3 8")
  }

  @Test func aClosureOfSeveralStatementsNeedsNoTypes() async throws {
    let calls = Counter()
    let query = BlockQuery(["count"]) { _ in
      let count = calls.increment()
      await Task.yield()
      return count
    }
    #expect(try await QueryClient().store(for: query).fetch() == 1)
  }

  @Test func theClosureMayYield() async throws {
    let query = BlockQuery(["posts"]) { _, continuation in
      continuation.yield(1)
      return 2
    }
    let store = QueryStore.detached(query: query, initialValue: nil)
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = store.subscribe(with: collector.handler)
    #expect(try await store.fetch() == 2)
    #expect(collector.states.map(\.currentValue) == [nil, nil, 1, 2])
    subscription.cancel()
  }

  @Test func whatTheClosureThrowsIsTheError() async {
    let query = BlockQuery(["failing"]) { _ -> Int in throw TestError() }
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(store.error as? TestError == TestError())
  }

  @Test func itTakesModifiers() async throws {
    let attempts = Counter()
    let query = BlockQuery(["retried"]) { context in
      if attempts.increment() < 3 { throw TestError() }
      return context.retryIndex
    }
    let store = QueryClient().store(
      for: query.retry(limit: 2).delayer(.noDelay).stale(after: 60).defaultValue(-1))
    #expect(store.currentValue == -1)
    #expect(try await store.fetch() == 2)
    #expect(!store.isStale)
    #expect(store.path == ["retried"])
  }

  @Test func itIsPersistedByItsPath() async throws {
    let storage = MemoryQueryStorage()
    func store() -> QueryStore<QueryState<Int?, Int>> {
      QueryClient(storage: storage).store(for: BlockQuery(["posts", 1]) { _ in 4 }.persisted())
    }
    try await store().fetch()
    try await storage.flush()
    #expect(store().currentValue == 4)
    #expect(try storage[QueryIdentity(path: ["posts", 1])] != nil)
  }

  @Test func aClientRunsTheClosureOfTheFirstStoreOfAPath() async throws {
    let client = QueryClient()
    let first = client.store(for: BlockQuery(["posts"]) { _ in 1 })
    let second = client.store(for: BlockQuery(["posts"]) { _ in 2 })
    #expect(first === second)
    #expect(try await second.fetch() == 1)
  }

  @Test func messagesNameItByItsPath() {
    #expect(BlockQuery(["posts", 3]) { _ in 1 }._debugTypeName == #"BlockQuery(["posts", 3])"#)
    #expect(BlockQuery([]) { _ in 1 }.retry(limit: 1)._debugTypeName == "BlockQuery([])")
  }

  @MainActor @Test func itRunsOnTheActorOfItsCaller() async throws {
    let query = BlockQuery(["isolated"]) { _ in
      MainActor.assertIsolated()
      return 1
    }
    #expect(try await QueryStore.detached(query: query, initialValue: nil).fetch() == 1)
  }
}
