import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryClientPrefetchingTests {
  private let client = QueryClient()
  private let fetches = Counter()

  private func query(throwing error: TestError? = nil) -> ProbeQuery {
    probe { [fetches] _, _ in
      fetches.increment()
      if let error { throw error }
      return fetches.value
    }
  }

  @Test func aPrefetchedValueIsInTheStoreThatIsMadeLater() async {
    let query = self.query().stale(after: .seconds(3_600))
    await self.client.prefetch(query)
    let store = self.client.store(for: query)
    #expect(store.currentValue == 1)
    #expect(store.subscriberCount == 0)
    await self.client.prefetch(query)
    #expect(self.fetches.value == 1, "it is not stale")
    store.invalidate()
    await self.client.prefetch(query)
    #expect(store.currentValue == 2)
  }

  @Test func errorsOfAPrefetchAreInTheStore() async {
    let query = self.query(throwing: TestError())
    await self.client.prefetch(query)
    #expect(self.client.store(for: query).error as? TestError == TestError())
  }

  @Test func aQueryWithADefaultIsPrefetchedAndEnsured() async throws {
    let query = self.query().staleWhen { state, _ in state.valueUpdateCount == 0 }.defaultValue(0)
    #expect(try await self.client.ensureValue(for: query) == 1, "the default is no value")
    await self.client.prefetch(query)
    #expect(try await self.client.ensureValue(for: query) == 1)
    #expect(self.fetches.value == 1)
  }

  @Test func aValueIsFetchedOnlyWhereThereIsNone() async throws {
    let query = self.query()
    #expect(try await self.client.ensureValue(for: query) == 1)
    self.client.store(for: query).invalidate()
    #expect(try await self.client.ensureValue(for: query) == 1, "however old it is")
    #expect(self.fetches.value == 1)
  }

  @Test func anErrorOfTheQueryIsThrown() async {
    await #expect(throws: TestError()) {
      try await self.client.ensureValue(for: self.query(throwing: TestError()))
    }
  }

  @Test func thePagesOfAnInfiniteQueryArePrefetchedAndEnsured() async throws {
    await self.client.prefetch(PagesQuery())
    let store = self.client.store(for: PagesQuery())
    #expect(store.currentValue.count == 1)
    let count = store.valueUpdateCount
    #expect(try await self.client.ensureValue(for: PagesQuery()) == store.currentValue)
    #expect(store.valueUpdateCount == count)
    self.client.clearStores()
    #expect(try await self.client.ensureValue(for: PagesQuery()).count == 1)
  }

  @Test func aPersistedValueIsReadBeforeAnythingIsFetched() async throws {
    let storage = MemoryQueryStorage()
    let query = self.query().persisted()
    let first = QueryClient(storage: storage)
    #expect(try await first.ensureValue(for: query) == 1)
    try await storage.flush()
    let second = QueryClient(storage: storage)
    #expect(try await second.ensureValue(for: query) == 1)
    #expect(self.fetches.value == 1)
  }
}
