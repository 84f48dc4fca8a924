import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct DefaultQueryTests {
  private func query(_ script: @escaping @Sendable () async throws -> Int) -> SharedQuery {
    SharedQuery { _ in try await script() }
  }

  @Test func aStoreStartsWithTheDefaultAndIsIdle() async throws {
    let store = QueryStore.detached(query: self.query { 7 }.defaultValue(3))
    let value: Int = store.currentValue
    #expect(value == 3)
    #expect(store.initialValue == 3)
    #expect(store.status.isIdle)
    #expect(store.valueUpdateCount == 0)
    #expect(try await store.fetch() == 7)
    #expect(store.currentValue == 7)
    store.reset()
    #expect(store.currentValue == 3)
  }

  @Test func theDefaultIsEvaluatedAtEachAccess() {
    let counter = Counter()
    let query = self.query { 1 }.defaultValue(counter.increment())
    #expect(counter.value == 0)
    #expect(query.defaultValue == 1)
    #expect(query.defaultValue == 2)
    let store = QueryStore.detached(query: query)
    #expect(store.currentValue == 3)
    store.reset()
    // The value of the store's creation stays.
    #expect(store.currentValue == 3)
    #expect(counter.value == 3)
  }

  @Test func everythingElseIsTheQuerysOwn() async throws {
    let base = SharedQuery { call in
      call.continuation.yield(5)
      return 6
    }
    let query = base.defaultValue(1)
    #expect(query.path == base.path)
    #expect(query._debugTypeName == "SharedQuery")
    #expect(query.query.path == base.path)
    let events = EventCollector<QueryState<Int, Int>>()
    try await QueryStore.detached(query: query).fetch(handler: events.handler)
    #expect(
      events.events == [
        .stateChanged, .fetchingStarted, .yielded("5"), .stateChanged, .returned("6"),
        .stateChanged, .fetchingEnded,
      ]
    )
  }

  @Test func setupIsTheQuerysOwn() {
    let store = QueryStore.detached(query: self.query { 1 }.retry(limit: 4).defaultValue(1))
    #expect(store.context.maxRetries == 4)
  }

  @Test func modifiersMayFollowTheDefault() async throws {
    let failures = Counter()
    let query = self.query {
      if failures.increment() == 1 { throw TestError() }
      return 2
    }
    .defaultValue(9).retry(limit: 1).delayer(.noDelay).deduplicated()
    let store = QueryStore.detached(query: query)
    let value: Int = store.currentValue
    #expect(value == 9)
    #expect(try await store.fetch() == 2)
    #expect(query._defaultState.currentValue == 9)
  }

  @Test func aFailureKeepsTheDefault() async throws {
    let store = QueryStore.detached(query: self.query { throw TestError() }.defaultValue(3))
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(store.currentValue == 3)
    #expect(store.status.isFailure)
  }
}
