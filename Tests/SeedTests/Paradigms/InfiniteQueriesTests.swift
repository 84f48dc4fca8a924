import Query
import TestSupport
import Testing

// Document 004, "Infinite Queries": blocks 2, 3 and 5.

@Suite("Document 004: infinite queries", .warningsAreIssues)
struct InfiniteQueriesTests {
  private let api = PlayersAPI()
  private var client: QueryClient { QueryClient(defaultContext: .players(self.api)) }

  @Test("Block 3: all pages, the next page and the previous page")
  func fetching() async throws {
    let store = client.store(for: PlayersQuery(listId: 20))

    // Fetching all pages.
    try await store.fetch()  // Fetches initial page if no pages have been fetched yet.
    try await store.fetchAllPages()

    // Fetching next page.
    // Fetches initial page if no pages have been fetched yet.
    try await store.fetchNextPage()

    // Fetching previous page.
    // Fetches initial page if no pages have been fetched yet.
    try await store.fetchPreviousPage()

    #expect(self.api.calls == ["initial", "initial", "next 1", "previous 1"])
    #expect(store.currentValue.map(\.id) == ["previous 1", "initial", "next 1"])
    #expect(store.nextPageId == "next 2")
    #expect(store.previousPageId == "previous 2")

    let pages = try await store.fetch()
    #expect(self.api.calls.suffix(3) == ["previous 1", "initial", "next 1"])
    #expect(store.currentValue.map(\.id) == ["previous 1", "initial", "next 1"])
    guard case .allPages(let fetched) = pages.fetchValue else {
      Issue.record("A plain fetch refetches all pages that are loaded.")
      return
    }
    #expect(fetched.map(\.id) == ["previous 1", "initial", "next 1"])
  }

  @Test("Block 3: the next or previous page of an empty list is the initial page")
  func initialPage() async throws {
    let next = client.store(for: PlayersQuery(listId: 20))
    #expect(try await next.fetchNextPage()?.id == "initial")
    #expect(next.currentValue.map(\.id) == ["initial"])

    let previous = client.store(for: PlayersQuery(listId: 20))
    #expect(try await previous.fetchPreviousPage()?.id == "initial")
    #expect(previous.currentValue.map(\.id) == ["initial"])
    #expect(self.api.calls == ["initial", "initial"])
  }

  @Test("Block 2: there is no page after the last one, and none before the first one")
  func ends() async throws {
    let store = client.store(for: PlayersQuery(listId: 20))
    for _ in 1...3 { try await store.fetchNextPage() }
    #expect(store.currentValue.map(\.id) == ["initial", "next 1", "next 2"])
    #expect(!store.hasNextPage)
    #expect(try await store.fetchNextPage() == nil)

    for _ in 1...2 { try await store.fetchPreviousPage() }
    #expect(store.currentValue.first?.value.isFirstPage == true)
    #expect(!store.hasPreviousPage)
    #expect(try await store.fetchPreviousPage() == nil)
    #expect(self.api.calls == ["initial", "next 1", "next 2", "previous 1", "previous 2"])
  }

  @Test("Block 5: the value is the pages, each with its identifier and its players")
  func pages() async throws {
    var lines = [String]()
    func print(_ title: String, _ value: Any) { lines.append("\(title): \(value)") }
    let client = self.client
    try await client.store(for: PlayersQuery(listId: 20)).fetch()
    try await client.store(for: PlayersQuery(listId: 20)).fetchNextPage()

    let store = client.store(for: PlayersQuery(listId: 20))

    for page in store.currentValue {
      print("Page Id", page.id)
      print("Players", page.value.players)
    }

    #expect(
      lines == [
        "Page Id: initial", "Players: \([Player(id: 2, name: "Player of initial")])",
        "Page Id: next 1", "Players: \([Player(id: 3, name: "Player of next 1")])",
      ]
    )
  }
}
