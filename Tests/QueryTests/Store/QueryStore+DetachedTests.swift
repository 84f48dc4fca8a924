import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreDetachedTests {
  private struct SetupQuery: QueryRequest {
    let setups: Counter
    var path: QueryPath { ["setup"] }

    func setup(context: inout QueryContext) {
      context.mark += "+\(self.setups.increment())"
    }

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int { 1 }
  }

  private struct Controller<State: QueryStateProtocol>: QueryController {
    let calls: Counter

    func control(with controls: QueryControls<State>) -> QuerySubscription {
      self.calls.increment()
      return .empty
    }
  }

  @Test func aStoreStartsWithTheContextThatTheRequestSetUpOnce() async throws {
    let setups = Counter()
    let store = QueryStore.detached(
      query: SetupQuery(setups: setups),
      initialValue: nil,
      initialContext: QueryContext(mark: "initial")
    )
    try await store.fetch()
    try await store.fetch()
    #expect(setups.value == 1)
    #expect(store.context.mark == "initial+1")
    #expect(store.path == ["setup"])
  }

  @Test func aStoreStartsWithTheStateThatItIsGiven() {
    var state = IntState(initialValue: 4)
    state.update(with: .success(5), using: QueryContext())
    let store = QueryStore.detached(query: ScriptedQuery<Int> { _, _ in 1 }, initialState: state)
    #expect(store.currentValue == 5)
    #expect(store.initialValue == 4)
    #expect(store.valueUpdateCount == 1)
    store.reset()
    #expect(store.currentValue == 4)
  }

  @Test func aDefaultValueIsNeverAbsent() async throws {
    let evaluations = Counter()
    let query = ScriptedQuery<Int> { _, _ in 1 }.defaultValue(evaluations.increment() + 40)
    let store: QueryStore<QueryState<Int, Int>> = .detached(query: query)
    #expect(store.currentValue == 41)
    #expect(store.initialValue == 41)
    #expect(query.defaultValue == 42)
    try await store.fetch()
    let value: Int = store.currentValue
    #expect(value == 1)
    store.reset()
    #expect(store.currentValue == 41)
  }

  @Test func modifiersMayFollowADefaultValue() {
    let query = ScriptedQuery<Int> { _, _ in 1 }.defaultValue(3).retry(limit: 2)
    #expect(QueryStore.detached(query: query).currentValue == 3)
  }

  @Test func eachControllerOfTheStateControlsTheStoreOnceAndOthersAreSkipped() {
    let calls = [Counter(), Counter()]
    var context = QueryContext()
    context.queryControllers.append(Controller<IntState>(calls: calls[0]))
    context.queryControllers.append(Controller<QueryState<String?, String>>(calls: calls[1]))
    let store = ScriptedQuery.store(in: context) { _, _ in 1 }
    #expect(calls.map(\.value) == [1, 0])
    withExtendedLifetime(store) {}
  }

  @Test func aStoreThatNoClientMadeHasNoDefaults() async {
    let attempts = Counter()
    let store = ScriptedQuery.store { _, _ in
      attempts.increment()
      throw TestError()
    }
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(attempts.value == 1)
    #expect(store.isStale)
    #expect(!store.isAutomaticFetchingEnabled)
    #expect(store.context.maxRetries == 0)
    #expect(store.context.queryClient == nil)
  }
}
