import Foundation
import Query
import TestSupport
import Testing

/// What a store's modifiers and fetches note in a context for themselves does not count for another
/// store that gets the context.
@Suite(.warningsAreIssues) struct StoreSetupTests {
  private let attempts = Recorder<Int>()

  /// A query that fails, and is tried three times.
  private func failing(path: QueryPath = ["failing"]) -> some QueryRequest<Int, IntState> {
    ProbeQuery(
      path: path,
      onFetch: { [attempts] context, _ in
        attempts.append(context.retryIndex)
        throw TestError()
      }
    )
    .retry(limit: 2).delayer(.noDelay)
  }

  private func detached(in context: QueryContext) -> IntStore {
    .detached(query: self.failing(), initialValue: nil, initialContext: context)
  }

  private func expectThreeAttempts(of store: IntStore) async {
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(self.attempts.removeAll() == [0, 1, 2])
  }

  // MARK: - Retries

  @Test func aStoreMadeInAnothersContextRetries() async {
    let other = IntStore.detached(query: self.failing(), initialValue: nil)
    await self.expectThreeAttempts(of: self.detached(in: other.context))
    await self.expectThreeAttempts(of: self.detached(in: self.detached(in: other.context).context))
    let clients = QueryClient().store(for: self.failing())
    await self.expectThreeAttempts(of: self.detached(in: clients.context))
    // A store that has another one's context from now on.
    let store = self.detached(in: QueryContext())
    store.context = clients.context
    store.context.maxRetries = 2
    store.context.queryDelayer = .noDelay
    await self.expectThreeAttempts(of: store)
  }

  @Test func aFetchInTheContextOfAnothersFetchRetries() async throws {
    let client = QueryClient()
    let inner = client.store(for: self.failing())
    let outer = client.store(
      for: ProbeQuery(onFetch: { context, _ in
        // At the second attempt: its number does not travel either.
        if context.retryIndex == 0 { throw TestError("first") }
        _ = try? await inner.fetch(using: context)
        return 1
      })
      .retry(limit: 2).delayer(.noDelay))
    try await outer.fetch()
    #expect(self.attempts.elements == [0, 1, 2])
  }

  @Test func aSettingTravels() async throws {
    var context = QueryContext()
    context.maxRetries = 1
    context.queryDelayer = .noDelay
    let other = IntStore.detached(query: ProbeQuery(), initialValue: nil, initialContext: context)
    let store = self.detached(in: QueryContext())
    await #expect(throws: TestError()) { try await store.fetch(using: other.context) }
    #expect(self.attempts.elements == [0, 1])
  }

  // MARK: - Deduplication

  @Test func aFetchInTheContextOfAnothersFetchIsDeduplicated() async throws {
    let gate = Gate()
    let fetches = Counter()
    let query = ProbeQuery(
      path: ["inner"],
      onFetch: { _, _ in
        let number = fetches.increment()
        try await gate.pass()
        return number
      })
    let predicate = AskingPredicate()
    let inner = QueryStore.detached(
      query: query.deduplicated(by: predicate.isDuplicate), initialValue: nil)
    let outer = QueryStore.detached(
      query: ProbeQuery(onFetch: { context, _ in try await inner.fetch(using: context) })
        .deduplicated(),
      initialValue: nil)
    async let first = inner.fetch()
    await gate.arrival()
    async let second = outer.fetch()
    await predicate.questions.wait(forCount: 1)
    gate.open()
    #expect(try await first == 1)
    #expect(try await second == 1)
    #expect(fetches.value == 1)
  }

  @Test func aStoreMadeInAnothersContextSharesNothingWithIt() async throws {
    let gate = Gate()
    let query = SharedQuery(gate)
    let other = query.deduplicated().sharedStore()
    let store = QueryStore.detached(
      query: query, initialValue: nil, initialContext: other.context)
    async let first = store.fetch()
    async let second = store.fetch()
    await gate.arrival(2)
    gate.open()
    #expect(try await [first, second].sorted() == [1, 2])
  }

  // MARK: - Names

  @Test func aTasksNameIsThatOfItsOwnStore() async throws {
    let names = Recorder<String?>()
    let inner = QueryStore.detached(
      query: ProbeTextQuery().modifier(NameRecorder(names: names)), initialValue: nil)
    let outer = QueryStore.detached(
      query: ProbeQuery(onFetch: { context, _ in
        try await inner.fetch(using: context)
        var named = context
        named.queryTaskConfiguration.name = "mine"
        try await inner.fetch(using: named)
        return 1
      }),
      initialValue: nil)
    try await outer.fetch()
    #expect(names.elements == ["QueryStore<QueryState<String?, String>> Task", "mine"])
  }

  // MARK: - Persistence and arguments

  @Test func aStoreMadeInAPersistedOnesContextIsNotPersisted() async throws {
    let storage = MemoryQueryStorage()
    let persisted = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    let store = QueryStore.detached(
      query: ProbeQuery(path: ["other"]), initialValue: nil, initialContext: persisted.context)
    store.currentValue = 1
    try await storage.flush()
    #expect(storage.statistics.entries == 0)
  }

  @Test func theArgumentsOfAMutationDoNotTravel() async throws {
    let inner = QueryStore.detached(mutation: EchoMutation())
    try await inner.mutate(with: "own")
    let outer = QueryStore.detached(
      mutation: EchoMutation { call in
        // Repeats its own latest attempt.
        try await inner.fetch(using: call.context).returnValue
      })
    #expect(try await outer.mutate(with: "others") == "OWN")
    #expect(inner.history.map(\.arguments) == ["own", "own"])
  }

  // MARK: - Pages and history

  @Test func aFetchInTheContextOfAListWithFewPagesKeepsItsOwnPages() async throws {
    let inner = QueryStore<TestPagesState>.detached(query: PagesQuery(), initialValue: [])
    try await inner.load(4)
    let outer = QueryStore<TestPagesState>.detached(
      query: PagesQuery(fetch: { call in
        try await inner.fetch(using: call.context)
        return 0
      }).maxPages(2),
      initialValue: [])
    try await outer.load(3)
    #expect(outer.ids == [2, 3])
    #expect(inner.ids == [1, 2, 3, 4])
  }

  @Test func aListMadeInTheContextOfOneWithFewPagesHasNoLimit() async throws {
    let other = QueryStore<TestPagesState>.detached(
      query: PagesQuery().maxPages(2), initialValue: [])
    let store = QueryStore<TestPagesState>.detached(
      query: PagesQuery(), initialValue: [], initialContext: other.context)
    try await store.load(3)
    #expect(store.ids == [1, 2, 3])
  }

  @Test func anAttemptInTheContextOfAMutationWithAShortHistoryIsKeptBesideTheOthers() async throws {
    let inner = QueryStore.detached(mutation: EchoMutation())
    let outer = QueryStore.detached(
      mutation: EchoMutation { call in
        try await inner.mutate(with: "inner", using: call.context)
      }.maxHistory(length: 1))
    try await inner.mutate(with: "first")
    for number in 0..<3 { try await outer.mutate(with: "\(number)") }
    #expect(outer.history.map(\.arguments) == ["2"])
    #expect(inner.history.map(\.arguments) == ["first", "inner", "inner", "inner"])
  }
}

/// Notes the names of the tasks that it is fetched in.
private struct NameRecorder<Query: QueryRequest>: QueryModifier {
  let names: Recorder<String?>

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    self.names.append(context.queryTaskConfiguration.name)
    return try await query.fetch(in: context, with: continuation)
  }
}
