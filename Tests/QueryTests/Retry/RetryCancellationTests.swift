import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct RetryCancellationTests {
  private let delayer = RecordingDelayer()
  private let attempts = Counter()

  @Test func aCancellationErrorIsNotTriedAgain() async {
    let query = ProbeQuery(onFetch: { [attempts] _, _ in
      attempts.increment()
      throw CancellationError()
    })
    .retry(limit: 3).delayer(self.delayer)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: CancellationError.self) { try await store.fetch() }
    #expect(self.attempts.value == 1)
    #expect(self.delayer.delays == [])
    #expect(store.status.isCancelled)
  }

  @Test func anErrorInACancelledTaskIsNotTriedAgain() async {
    let query = ProbeQuery(onFetch: { [attempts] _, _ in
      attempts.increment()
      withUnsafeCurrentTask { $0?.cancel() }
      throw TestError()
    })
    .retry(limit: 3).delayer(self.delayer)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(self.attempts.value == 1)
    #expect(self.delayer.delays == [])
  }

  @Test func aTaskThatIsCancelledInADelayEnds() async {
    let gate = Gate()
    let query = ProbeQuery(onFetch: { [attempts] _, _ in
      attempts.increment()
      throw TestError()
    })
    .retry(limit: 3).delayer(RecordingDelayer(gate: gate))
    let store = QueryStore.detached(query: query, initialValue: nil)
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    fetch.cancel()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(self.attempts.value == 1)
    #expect(store.status.isCancelled)
  }

  @Test(arguments: 1...3)
  func aTaskIsNotTriedAgainWhereTheDelayIgnoredItsCancellation(limit: Int) async {
    let query = ProbeQuery(onFetch: { [attempts] _, _ in
      attempts.increment()
      throw TestError()
    })
    .retry(limit: limit).delayer(CancellingDelayer(at: limit)).backoff(.linear(1))
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: CancellationError.self) { try await store.fetch() }
    #expect(self.attempts.value == limit)
  }

  @Test func aCancelledTaskDoesNotBeginToTry() async {
    let query = ProbeQuery(onFetch: { [attempts] _, _ in attempts.increment() })
    let retried = QueryStore.detached(query: query.retry(limit: 1), initialValue: nil)
    let fetch = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await retried.fetch()
    }
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(self.attempts.value == 0)
  }

  @Test func aDelayThatThrowsEndsTheFetchWithItsError() async {
    let query = ProbeQuery(onFetch: { [attempts] _, _ in
      attempts.increment()
      throw TestError("request")
    })
    .retry(limit: 3).delayer(ThrowingDelayer())
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError("delay")) { try await store.fetch() }
    #expect(self.attempts.value == 1)
    #expect(store.error as? TestError == TestError("delay"))
    #expect(store.errorUpdateCount == 1)
  }

  // MARK: - Bad input

  @Test(arguments: [-1, -.infinity, .infinity, .nan] as [TimeInterval])
  func anInvalidDelayIsWarnedOfAndTakenAsNone(seconds: TimeInterval) async throws {
    let warning = QueryWarning.invalidDelay(query: "ProbeQuery", seconds: seconds)
    let query = ProbeQuery(onFetch: { context, _ in
      if context.isLastRetryAttempt { return 1 }
      throw TestError()
    })
    .retry(limit: 2).delayer(self.delayer)
    .backoff(QueryBackoffFunction { $0 == 1 ? seconds : 4 })
    let store = QueryStore.detached(query: query, initialValue: nil)
    let value = try await withExpectedWarnings([warning]) { try await store.fetch() }
    #expect(value == 1)
    #expect(self.delayer.delays == [0, 4])
  }

  @Test func aNegativeLimitIsAPrecondition() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      _ = ProbeQuery().retry(limit: -1)
    }
    try expectSentence(
      "ProbeQuery: retry(limit:) takes a number that is not negative; got -1.", in: result)
  }
}

private struct CancellingDelayer: QueryDelayer {
  let attempt: Int

  init(at attempt: Int) { self.attempt = attempt }

  func delay(for seconds: TimeInterval) async throws {
    if Int(seconds) == self.attempt { withUnsafeCurrentTask { $0?.cancel() } }
  }
}

private struct ThrowingDelayer: QueryDelayer {
  func delay(for seconds: TimeInterval) async throws { throw TestError("delay") }
}
