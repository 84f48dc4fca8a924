import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryModifierTests {
  // MARK: - Setup

  @Test func setupRunsFromTheOutermostModifierToTheRequest() {
    let query = ProbeQuery(onSetup: { $0.trace.append("request") })
      .traced("inner").traced("middle").traced("outer")
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.trace == ["outer", "middle", "inner", "request"])
  }

  @Test func aContextEditComesBeforeTheSetupOfWhatItSurrounds() {
    let query = ProbeQuery(onSetup: { $0.trace.append("request") })
      .edited { $0.trace.append("inner") }
      .traced("middle")
      .edited { $0.trace.append("outer") }
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.trace == ["outer", "middle", "inner", "request"])
  }

  @Test func theInnerModifierWins() {
    let query = ProbeQuery().retry(limit: 2).retry(limit: 5)
    #expect(QueryStore.detached(query: query, initialValue: nil).context.maxRetries == 2)

    let pressures = ProbeQuery().evictWhen(pressure: .normal).evictWhen(pressure: .critical)
    let store = QueryStore.detached(query: pressures, initialValue: nil)
    #expect(store.context.evictableMemoryPressure == .normal)
  }

  @Test func theRequestsOwnSetupWinsOverModifiersAndClient() {
    let client = QueryClient.quiet(.default(retryLimit: 7, networkObserver: nil))
    let query = ProbeQuery(onSetup: { $0.maxRetries = 0 }).retry(limit: 4)
    #expect(client.store(for: query).context.maxRetries == 0)
  }

  @Test func modifiersEditTheInitialContext() {
    var context = QueryContext()
    context.trace = ["initial"]
    let store = QueryStore.detached(
      query: ProbeQuery().traced("modifier"),
      initialValue: nil,
      initialContext: context
    )
    #expect(store.context.trace == ["initial", "modifier"])
    #expect(context.trace == ["initial"])
  }

  @Test func setupRunsOncePerStoreAndNotPerFetch() async throws {
    let setups = Counter()
    let query = ProbeQuery(onSetup: { _ in setups.increment() }).traced("outer")
    let client = QueryClient.quiet()
    let store = client.store(for: query)
    try await store.fetch()
    try await store.fetch()
    #expect(client.store(for: query) === store)
    #expect(setups.value == 1)
    _ = QueryStore.detached(query: query, initialValue: nil)
    #expect(setups.value == 2)
  }

  @Test func aModifierThatSetsUpNothingElseStopsTheSetup() {
    let query = ProbeQuery(onSetup: { $0.trace.append("request") }).modifier(Blocking())
      .traced("outer")
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.trace == ["outer"])
  }

  // MARK: - Accumulating keys

  @Test func controllersAccumulateOutermostFirst() {
    let order = Recorder<String>()
    let query = ProbeQuery(onSetup: { $0.queryControllers.append(named("request", order)) })
      .controlled(by: named("inner", order))
      .controlled(by: named("outer", order))
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(order.elements == ["outer", "inner", "request"])
    #expect(store.context.queryControllers.count == 3)
  }

  @Test func stalenessPredicatesAccumulateOutermostFirst() {
    let order = Recorder<String>()
    let query = ProbeQuery()
      .staleWhen { _, _ in
        order.append("inner")
        return false
      }
      .staleWhen { _, _ in
        order.append("outer")
        return false
      }
    #expect(!QueryStore.detached(query: query, initialValue: nil).isStale)
    #expect(order.elements == ["outer", "inner"])
  }

  // MARK: - Fetching

  @Test func eachModifierSurroundsTheFetchOfWhatIsInside() async throws {
    let order = Recorder<String>()
    let query = ProbeQuery(onFetch: { _, _ in
      order.append("request")
      return 1
    })
    .traced("inner") { order.append($0) }
    .traced("outer") { order.append($0) }
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(try await store.fetch() == 1)
    #expect(order.elements == ["outer", "inner", "request"])
  }

  @Test func anEditOfTheFetchsContextReachesOnlyWhatIsInside() async throws {
    let seen = Recorder<[String]>()
    let query = ProbeQuery(onFetch: { context, _ in
      seen.append(context.trace)
      return 1
    })
    .modifier(FetchEdit())
    let store = QueryStore.detached(query: query, initialValue: nil)
    let collector = EventCollector<QueryState<Int?, Int>>()
    try await store.fetch(handler: collector.handler)
    #expect(seen.elements == [["fetch"]])
    #expect(store.context.trace == [])
    #expect(collector.entries.elements.allSatisfy { $0.context.trace == [] })
  }

  @Test func aModifierMayAnswerByItself() async throws {
    let fetches = Counter()
    let query = ProbeQuery(onFetch: { _, _ in fetches.increment() }).modifier(Blocking())
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError("blocked")) { try await store.fetch() }
    #expect(fetches.value == 0)
    #expect(store.errorUpdateCount == 1)
  }

  @Test func oneChainServesQueriesInfiniteQueriesAndMutations() async throws {
    let order = Recorder<String>()
    let query = composed(ProbeQuery(), order)
    let pages = composed(ProbePages(), order)
    let mutation = composed(ProbeMutation(), order)

    let queryStore = QueryStore.detached(query: query, initialValue: nil)
    try await queryStore.fetch()
    let pagesStore = QueryStore.detached(query: pages)
    try await pagesStore.fetchNextPage()
    let mutationStore = QueryStore.detached(mutation: mutation)
    #expect(try await mutationStore.mutate(with: 4) == 8)

    #expect(order.elements == ["fetch", "fetch", "fetch"])
    for context in [queryStore.context, pagesStore.context, mutationStore.context] {
      #expect(context.maxRetries == 2)
      #expect(context.trace == ["fetch"])
      #expect(context.satisfiedConnectionStatus == .disconnected)
      #expect(context.queryTaskConfiguration.name == "composed")
    }
  }

  private func composed<Query: QueryRequest>(
    _ query: Query,
    _ order: Recorder<String>
  ) -> ModifiedQuery<Query, some QueryModifier<Query>> {
    query.modifier(ComposedModifier(order: order))
  }
}

/// What several modifiers are together, on any query.
private struct ComposedModifier<Query: QueryRequest>: QueryModifier {
  let order: Recorder<String>

  private func chain(
    _ query: Query
  ) -> some QueryRequest<Query.Value, Query.State> {
    query.retry(limit: 2).traced("fetch") { self.order.append($0) }
      .satisfiedConnectionStatus(.disconnected).taskConfiguration { $0.name = "composed" }
  }

  func setup(context: inout QueryContext, using query: Query) {
    self.chain(query).setup(context: &context)
  }

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await self.chain(query).fetch(in: context, with: continuation)
  }
}

private struct EditModifier<Query: QueryRequest>: _ContextUpdatingQueryModifier {
  let edit: @Sendable (inout QueryContext) -> Void

  func setup(context: inout QueryContext) { self.edit(&context) }
}

extension QueryRequest {
  fileprivate func edited(
    _ edit: @escaping @Sendable (inout QueryContext) -> Void
  ) -> ModifiedQuery<Self, EditModifier<Self>> {
    self.modifier(EditModifier(edit: edit))
  }
}

private struct Blocking<Query: QueryRequest>: QueryModifier {
  func setup(context: inout QueryContext, using query: Query) {}

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value { throw TestError("blocked") }
}

private struct FetchEdit<Query: QueryRequest>: QueryModifier {
  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    var context = context
    context.trace.append("fetch")
    return try await query.fetch(in: context, with: continuation)
  }
}

private func named(
  _ name: String,
  _ order: Recorder<String>
) -> ProbeController<QueryState<Int?, Int>> {
  ProbeController { _ in
    order.append(name)
    return .empty
  }
}
