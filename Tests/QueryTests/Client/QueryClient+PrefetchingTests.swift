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

  @Test func aValueThatComesWhileItIsLookedForIsNotFetchedAgain() async {
    let looks = Counter()
    let client = self.client
    let query = self.query().staleWhen { state, context in
      if looks.increment() == 1 {
        // As a fetch does that ends at this moment.
        client.store(with: ["probe"])?.uncheckedSetCurrentValue(7)
      }
      return state.valueUpdateCount == 0
    }
    await self.client.prefetch(query)
    #expect(self.fetches.value == 0)
    #expect(looks.value == 2)
    #expect(self.client.store(for: query).currentValue == 7)
  }

  @Test func aStoreThatIsSubscribedToIsNotFetchedForWhatHasJustCome() async throws {
    let looks = Counter()
    let client = self.client
    let query = self.query().staleWhen { state, context in
      if looks.increment() == 1 { client.store(with: ["probe"])?.uncheckedSetCurrentValue(7) }
      return state.valueUpdateCount == 0
    }
    let subscription = client.store(for: query).subscribe { _ in }
    #expect(looks.value == 2)
    #expect(!client.store(for: query).isLoading)
    #expect(self.fetches.value == 0)
    subscription.cancel()
  }

  /// Whether it comes before, while or after that one runs.
  @Test func aPrefetchBesideTheFetchOfASubscriberIsOneRead() async {
    for _ in 0..<500 {
      let client = QueryClient()
      let fetches = Counter()
      let query = probe { _, _ in fetches.increment() }.stale(after: .seconds(300))
      let subscription = client.store(for: query).subscribe { _ in }
      async let other: Void = client.prefetch(query)
      await client.prefetch(query)
      await other
      #expect(fetches.value == 1)
      subscription.cancel()
    }
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
