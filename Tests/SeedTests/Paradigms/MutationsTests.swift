import Query
import TestSupport
import Testing

// Document 004, "Mutations": blocks 7 and 8.

@Suite("Document 004: mutations", .warningsAreIssues)
struct MutationsTests {
  private let api = PlayersAPI()
  private let client: QueryClient

  init() { self.client = QueryClient(defaultContext: .players(self.api)) }

  @Test("Block 7: a mutation gets its arguments from the call")
  func arguments() async throws {
    let store = client.store(for: CreatePlayerMutation())
    #expect(store.currentValue == nil)

    let player = try await store.mutate(with: .init(name: "Blob", number: 42))

    #expect(player == Player(name: "Blob", number: 42))
    #expect(store.currentValue == player)
    #expect(self.api.calls == ["create Blob"])
  }

  @Test("Block 8: the latest arguments are tried again, or new ones given")
  func fetching() async throws {
    try await client.store(for: CreatePlayerMutation()).mutate(
      with: CreatePlayerMutation.Arguments(name: "Blob Jr.", number: 1)
    )

    let store = client.store(for: CreatePlayerMutation())

    // Retry latest argument set.
    try await store.fetch()
    try await store.retryLatest()

    // Mutate with arguments.
    try await store.mutate(
      with: CreatePlayerMutation.Arguments(name: "Blob", number: 42)
    )

    #expect(
      self.api.calls == ["create Blob Jr.", "create Blob Jr.", "create Blob Jr.", "create Blob"]
    )
    #expect(store.history.map(\.arguments.number) == [1, 1, 1, 42])
    #expect(store.currentValue == Player(name: "Blob", number: 42))
  }

  @Test("There is nothing to try again before the first attempt, which is an error and a warning")
  func noArguments() async throws {
    let store = client.store(for: CreatePlayerMutation())

    await withExpectedWarnings([.mutationWithNoArgumentsOrHistory]) {
      await #expect(throws: (any Error).self) { try await store.retryLatest() }
    }

    #expect(store.history.isEmpty)
    #expect(self.api.calls.isEmpty)
  }
}
