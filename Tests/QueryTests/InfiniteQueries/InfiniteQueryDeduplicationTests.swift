import Query
import TestSupport
import Testing

@MainActor @Suite(.warningsAreIssues) struct InfiniteQueryDeduplicationTests {
  private let source = PageSource()
  private let gate = Gate()

  /// A store with the initial page, whose later fetches all wait at the gate.
  private func loadedStore() async throws -> QueryStore<TestPagesState> {
    let query = PagesQuery(self.source) { [gate] call in
      if call.index > 0 { try await gate.pass() }
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.deduplicated())
    try await store.fetch()
    return store
  }

  /// Starts a fetch on the main actor, and returns when it has joined, or is at the gate.
  private func start<Value: Sendable>(
    on store: QueryStore<TestPagesState>,
    _ fetch: @escaping @Sendable (InfiniteQueryEventHandler<Int, Int>) async throws -> Value
  ) async -> Task<Value, any Error> {
    let events = EventCollector<TestPagesState>()
    let task = Task { @MainActor in try await fetch(events.infiniteHandler()) }
    await events.wait(for: .fetchingStarted)
    return task
  }

  @Test func equalPagesShareOneFetchAndBothReturnThePage() async throws {
    let store = try await self.loadedStore()
    let first = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    await self.gate.arrival()
    let second = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    self.gate.open()
    #expect(try await (first.value?.id, second.value?.id) == (2, 2))
    #expect(self.source.ids == [1, 2])
    #expect(store.ids == [1, 2])
    #expect(store.valueUpdateCount == 3)
  }

  @Test func allPagesAndAPlainFetchShare() async throws {
    let store = try await self.loadedStore()
    let all = await self.start(on: store) { try await store.fetchAllPages(handler: $0) }
    await self.gate.arrival()
    let plain = store.fetchInTask()
    await store.waitForState { $0.allPagesActiveTasks.count == 2 }
    self.gate.open()
    #expect(try await all.value.ids == [1])
    #expect(try await plain.value.fetchValue == .allPages(testPages(1...1)))
    #expect(self.source.ids == [1, 1])
  }

  @Test func nextAndPreviousPagesDoNotShare() async throws {
    let store = try await self.loadedStore()
    let next = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    let previous = await self.start(on: store) { try await store.fetchPreviousPage(handler: $0) }
    await self.gate.arrival(2)
    self.gate.open()
    #expect(try await (next.value?.id, previous.value?.id) == (2, 0))
    #expect(store.ids == [0, 1, 2])
  }

  @Test func aPageThatIsNotThereSharesNothing() async throws {
    let source = self.source
    let gate = self.gate
    let query = PagesQuery(source) { call in
      if call.id == 2 {
        source.setLimits(1...2)
        call.continuation.yield(21)
        try await gate.pass()
      }
      return call.id * 10
    }
    let store = QueryStore.detached(query: query.deduplicated())
    try await store.fetch()
    let previous = store.fetchPreviousPageTask()
    let next = Task { try await store.fetchNextPage() }
    await gate.arrival()
    // Neither has a page left now, but they are not the same work.
    #expect(!store.state.hasNextPage && !store.state.hasPreviousPage)
    #expect(try await previous.runIfNeeded() == nil)
    gate.open()
    #expect(try await next.value?.id == 2)
  }

  @Test func theFirstThatLeavesLeavesThePageToTheOther() async throws {
    let store = try await self.loadedStore()
    let first = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    await self.gate.arrival()
    let second = await self.start(on: store) { try await store.fetchNextPage(handler: $0) }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    self.gate.open()
    #expect(try await second.value?.id == 2)
    #expect(store.ids == [1, 2])
    #expect(store.state.error == nil)
    #expect(self.source.ids == [1, 2])
  }
}
