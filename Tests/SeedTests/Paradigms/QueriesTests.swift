import Foundation
import Query
import TestSupport
import Testing

// Document 004, "Queries": block 1.

private struct PlayerQuery: QueryRequest, Hashable {
  let id: Int

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Player>
  ) async throws -> Player {
    // Fetch player with id...
    try await context.playersAPI.player(id)
  }
}

private let fiveMinutes: TimeInterval = 5 * 60

private struct LoggedInUserCondition: FetchCondition {
  func isSatisfied(in context: QueryContext) -> Bool { context.login.isSatisfied(in: context) }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    context.login.subscribe(in: context, observer)
  }
}

extension QueryContext {
  /// Whether a user is logged in.
  fileprivate var login: ManualCondition {
    get { self[LoginKey.self] }
    set { self[LoginKey.self] = newValue }
  }

  private enum LoginKey: Key {
    static var defaultValue: ManualCondition { ManualCondition(false) }
  }
}

extension FetchCondition where Self == LoggedInUserCondition {
  fileprivate static var loggedInUser: Self { LoggedInUserCondition() }
}

@Suite("Document 004: queries", .warningsAreIssues)
struct QueriesTests {
  private let api = PlayersAPI()
  private let clock = TestClock()
  private let login = ManualCondition(false)

  @Test("A query with modifiers retries")
  func retry() async throws {
    let store = self.makeStore()
    self.api.fail("player 200", count: 3)
    let delayer = RecordingDelayer()
    store.context.queryDelayer = delayer

    let player = try await store.fetch()

    #expect(player == Player(id: 200, name: "Blob"))
    #expect(self.api.calls.count == 4)
    #expect(delayer.delays == [1, 2, 4])
    #expect(store.errorUpdateCount == 0)
  }

  @Test("A query with modifiers is deduplicated")
  func deduplication() async throws {
    let store = self.makeStore()
    let gate = self.api.hold("player 200")
    async let first = store.fetch()
    await gate.arrival()
    let collector = EventCollector<QueryState<Player?, Player>>()
    async let second = store.fetch(handler: collector.handler)
    await collector.wait(for: .fetchingStarted)
    gate.open()

    #expect(try await [first, second] == Array(repeating: Player(id: 200, name: "Blob"), count: 2))
    #expect(self.api.calls == ["player 200"])
    #expect(store.valueUpdateCount == 2)
  }

  @Test("A query with modifiers is stale after five minutes")
  func staleness() async throws {
    let store = self.makeStore()
    #expect(store.isStale)
    try await store.fetch()
    #expect(!store.isStale)
    self.clock.advance(by: fiveMinutes)
    #expect(!store.isStale)
    self.clock.advance(by: 1)
    #expect(store.isStale)
  }

  @Test("A query with modifiers is refetched when its condition comes to hold")
  func refetchOnChange() async throws {
    let store = self.makeStore()
    store.context.enableAutomaticFetchingCondition = .always(true)
    let collector = EventCollector<QueryState<Player?, Player>>()
    let subscription = store.subscribe(with: collector.handler)
    await collector.wait(for: .fetchingEnded)

    // What is fresh is not fetched again.
    self.login.send(true)
    #expect(!store.isLoading)
    self.login.send(false)

    self.clock.advance(by: fiveMinutes + 1)
    self.login.send(true)
    await collector.wait(for: .fetchingEnded, count: 2)
    #expect(self.api.calls.count == 2)
    subscription.cancel()
  }

  private func makeStore() -> QueryStore<QueryState<Player?, Player>> {
    let query = PlayerQuery(id: 200)
      .retry(limit: 3)
      .deduplicated()
      .stale(after: fiveMinutes)
      .refetchOnChange(of: .loggedInUser)

    var context = QueryContext.players(self.api)
    context.queryClock = self.clock
    context.login = self.login
    return QueryStore.detached(query: query, initialValue: nil, initialContext: context)
  }
}
