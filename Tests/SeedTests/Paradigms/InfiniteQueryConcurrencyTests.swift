import Query
import TestSupport
import Testing

// Document 004, "Infinite Query Concurrency": block 6.

@Suite("Document 004: the concurrency of infinite queries", .warningsAreIssues)
struct InfiniteQueryConcurrencyTests {
  private let api = PlayersAPI()
  private let client: QueryClient

  init() { self.client = QueryClient(defaultContext: .players(self.api)) }

  @Test("Block 6: one after another, every kind of fetch goes through")
  func sequence() async throws {
    try await client.store(for: PlayersQuery(listId: 20)).fetch()
    let store = client.store(for: PlayersQuery(listId: 20))

    // Can fetch at the same time, but will first wait for any active
    // "all pages" or "initial page" requests to finish.
    try await store.fetchNextPage()
    try await store.fetchPreviousPage()

    // Will wait for all "next page", "previous page", or "initial page"
    // requests to finish before fetching.
    try await store.fetchAllPages()

    #expect(
      self.api.calls == ["initial", "next 1", "previous 1", "previous 1", "initial", "next 1"]
    )
  }

  @Test("The next and the previous page are fetched at the same time")
  func nextAndPrevious() async throws {
    let store = try await self.loadedStore()
    let next = self.api.hold("next 1")
    let previous = self.api.hold("previous 1")

    async let nextPage = store.fetchNextPage()
    async let previousPage = store.fetchPreviousPage()
    // Both are under way, and neither has ended.
    await next.arrival()
    await previous.arrival()
    #expect(store.isLoadingNextPage)
    #expect(store.isLoadingPreviousPage)
    previous.open()
    #expect(try await previousPage?.id == "previous 1")
    #expect(store.isLoadingNextPage)
    next.open()
    #expect(try await nextPage?.id == "next 1")

    #expect(store.currentValue.map(\.id) == ["previous 1", "initial", "next 1"])
  }

  @Test("All pages wait for the next and the previous page")
  func allPagesWait() async throws {
    let store = try await self.loadedStore()
    let next = self.api.hold("next 1")
    let previous = self.api.hold("previous 1")
    async let nextPage = store.fetchNextPage()
    async let previousPage = store.fetchPreviousPage()
    await next.arrival()
    await previous.arrival()

    let task = store.fetchAllPagesTask()
    #expect(store.isLoadingAllPages)
    async let allPages = task.runIfNeeded()
    next.open()
    _ = try await nextPage
    previous.open()
    _ = try await previousPage

    #expect(try await allPages.map(\.id) == ["previous 1", "initial", "next 1"])
    #expect(
      self.api.log.elements.suffix(6) == [
        "start previous 1", "end previous 1",
        "start initial", "end initial",
        "start next 1", "end next 1",
      ]
    )
    let ends = self.api.log.elements.prefix(4).filter { $0.hasPrefix("end ") }
    #expect(ends == ["end next 1", "end previous 1"])
  }

  @Test("The next and the previous page wait for all pages")
  func onePageWaits() async throws {
    let store = try await self.loadedStore()
    let initial = self.api.hold("initial")
    async let allPages = store.fetchAllPages()
    await initial.arrival()

    let next = store.fetchNextPageTask()
    let previous = store.fetchPreviousPageTask()
    async let nextPage = next.runIfNeeded()
    async let previousPage = previous.runIfNeeded()
    initial.open()

    #expect(try await allPages.map(\.id) == ["initial"])
    #expect(try await nextPage?.id == "next 1")
    #expect(try await previousPage?.id == "previous 1")
    #expect(self.api.log.elements.prefix(2) == ["start initial", "end initial"])
  }

  @Test("All pages, the next page and the previous page wait for the initial page")
  func initialPageFirst() async throws {
    let store = client.store(for: PlayersQuery(listId: 20))
    let initial = self.api.hold("initial")
    async let initialPage = store.fetch()
    await initial.arrival()
    #expect(store.isLoadingInitialPage)

    let next = store.fetchNextPageTask()
    let previous = store.fetchPreviousPageTask()
    async let nextPage = next.runIfNeeded()
    async let previousPage = previous.runIfNeeded()
    initial.open()
    _ = try await initialPage

    // They decide again when they start, and so fetch what follows the initial page.
    #expect(try await nextPage?.id == "next 1")
    #expect(try await previousPage?.id == "previous 1")
    #expect(self.api.log.elements.prefix(2) == ["start initial", "end initial"])
    #expect(self.api.calls.sorted() == ["initial", "next 1", "previous 1"])
  }

  @Test("All pages wait for the initial page, too")
  func allPagesAfterInitialPage() async throws {
    let store = client.store(for: PlayersQuery(listId: 20))
    let initial = self.api.hold("initial")
    async let initialPage = store.fetch()
    await initial.arrival()

    let all = store.fetchAllPagesTask()
    async let allPages = all.runIfNeeded()
    initial.open()
    _ = try await initialPage

    #expect(try await allPages.map(\.id) == ["initial"])
    #expect(
      self.api.log.elements == ["start initial", "end initial", "start initial", "end initial"]
    )
  }

  private func loadedStore() async throws -> QueryStore<InfiniteQueryState<String, PlayersPage>> {
    let store = client.store(for: PlayersQuery(listId: 20))
    try await store.fetch()
    self.api.log.removeAll()
    return store
  }
}
