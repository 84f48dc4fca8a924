import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct OpaqueQueryEventHandlerTests {
  private let log = Recorder<String>()

  private var handler: OpaqueQueryEventHandler {
    OpaqueQueryEventHandler(
      onStateChanged: { [log] state, _ in
        log.append("state \(state.currentValue.map { "\($0)" } ?? "nil")")
      },
      onFetchingStarted: { [log] _ in log.append("started") },
      onFetchingEnded: { [log] _ in log.append("ended") },
      onResultReceived: { [log] result, context in
        let reason = context.queryResultUpdateReason?.description ?? "none"
        switch result {
        case .success(let value): log.append("\(reason) \(value)")
        case .failure(let error): log.append("\(reason) \(error)")
        }
      }
    )
  }

  private struct YieldingQuery: QueryRequest {
    let path: QueryPath = ["yielding"]
    var isFailing = false

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int {
      continuation.yield(1)
      if self.isFailing { throw TestError() }
      return 2
    }
  }

  @Test func theEventsOfAFetchInTheirOrder() async throws {
    let store = OpaqueQueryStore(
      erasing: QueryStore.detached(query: YieldingQuery(), initialValue: nil)
    )
    try await store.fetch(handler: self.handler)
    #expect(
      self.log.elements == [
        "state nil", "started", "yieldedResult 1", "state 1", "returnedFinalResult 2",
        "state 2", "ended",
      ]
    )
  }

  @Test func theEventsOfAFailureInTheirOrder() async throws {
    let store = OpaqueQueryStore(
      erasing: QueryStore.detached(query: YieldingQuery(isFailing: true), initialValue: nil)
    )
    await #expect(throws: TestError()) {
      try await store.fetch(using: QueryContext(), handler: self.handler)
    }
    #expect(
      self.log.elements == [
        "state nil", "started", "yieldedResult 1", "state 1",
        "returnedFinalResult TestError(expected)", "state 1", "ended",
      ]
    )
  }

  @Test func aSubscriberSeesTheStateFirstAndIsCancelled() async throws {
    let base = QueryStore.detached(query: YieldingQuery().defaultValue(9))
    let subscription = OpaqueQueryStore(erasing: base).subscribe(with: self.handler)
    #expect(self.log.elements == ["state 9"])
    base.currentValue = 5
    #expect(self.log.elements == ["state 9", "state 5"])
    subscription.cancel()
    base.currentValue = 6
    #expect(self.log.count == 2)
  }

  @Test func eventsOfMutationsAndInfiniteQueries() async throws {
    let pages = OpaqueQueryStore(erasing: PagesQuery().store())
    let ending = OpaqueQueryEventHandler(onFetchingEnded: self.handler.onFetchingEnded)
    try await pages.fetch(handler: ending)
    let echo = QueryStore.detached(mutation: EchoMutation())
    let subscription = OpaqueQueryStore(erasing: echo).subscribe(with: self.handler)
    try await echo.mutate(with: "a")
    subscription.cancel()
    #expect(
      self.log.elements == [
        "ended", "state nil", "state nil", "started",
        "returnedFinalResult MutationValue<String>(returnValue: \"A\")", "state A", "ended",
      ]
    )
  }
}
