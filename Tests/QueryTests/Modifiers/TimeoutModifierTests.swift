import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct TimeoutModifierTests {
  private let attempts = Counter()

  /// A query whose attempts never end, unless they are cancelled.
  private func hanging() -> ProbeQuery {
    probe { [attempts] _, _ in
      attempts.increment()
      try await Gate().pass()
      return 1
    }
  }

  @Test func whatComesInTimeIsTheValue() async throws {
    let query = probe { _, continuation in
      continuation.yield(5)
      return 6
    }
    let store = QueryStore.detached(query: query.timeout(after: .seconds(3_600)), initialValue: nil)
    let collector = EventCollector<QueryState<Int?, Int>>()
    #expect(try await store.fetch(handler: collector.handler) == 6)
    #expect(store.valueUpdateCount == 2)
  }

  @Test func anErrorThatComesInTimeIsTheError() async {
    let query = probe { _, _ in throw TestError() }
    let store = QueryStore.detached(query: query.timeout(after: .seconds(3_600)), initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
  }

  @Test func anAttemptThatTakesTooLongIsCancelledAndFails() async throws {
    let ended = Recorder<Bool>()
    let query = probe { _, _ in
      defer { ended.append(Task.isCancelled) }
      try await Gate().pass()
      return 1
    }
    let store = QueryStore.detached(
      query: query.timeout(after: .milliseconds(1)), initialValue: nil)
    let error = await #expect(throws: QueryTimeoutError.self) { try await store.fetch() }
    #expect(error?.duration == .milliseconds(1))
    #expect(error?.query?.contains("ProbeQuery") == true)
    #expect("\(try #require(error))".contains("ProbeQuery"))
    #expect(store.error is QueryTimeoutError)
    #expect(await ended.wait(forCount: 1) == [true])
  }

  @Test func anAttemptThatIgnoresItsCancellationFailsInTimeAndYieldsNothingLater() async throws {
    let gate = Gate()
    let yielded = Recorder<Bool>()
    let query = probe { _, continuation in
      await gate.passIgnoringCancellation()
      continuation.yield(7)
      yielded.append(true)
      return 8
    }
    let store = QueryStore.detached(
      query: query.timeout(after: .milliseconds(1)), initialValue: nil)
    await #expect(throws: QueryTimeoutError.self) { try await store.fetch() }
    #expect(!store.isLoading)
    gate.open()
    await yielded.wait(forCount: 1)
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 0)
  }

  /// A layer that does not hand on the continuation that it is given.
  private struct OwnContinuation: QueryModifier {
    func fetch(
      in context: QueryContext, using query: BlockQuery<Int>,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int {
      try await query.fetch(
        in: context,
        with: QueryContinuation { result, context in
          continuation.yield(with: result, using: context)
        })
    }
  }

  @Test(arguments: [true, false])
  func whatAnOverdueAttemptSaysOfTheValueDoesNotCount(toAContinuationInBetween: Bool) async throws {
    let (clock, gate, attempts) = (MockQueryClock(), Gate(), self.attempts)
    let said = Recorder<Bool>()
    let block = BlockQuery<Int>(["overdue"]) { context, continuation in
      switch attempts.increment() {
      case 1: return 1
      case 2:
        await gate.passIgnoringCancellation()
        said.append((try? continuation.unchanged()) != nil)
        return 2
      default:
        gate.open()
        await said.wait(forCount: 1)
        return 3
      }
    }
    var context = QueryContext()
    context.queryClock = clock
    func store(of query: some QueryRequest<Int, QueryState<Int?, Int>>) -> QueryStore<
      QueryState<Int?, Int>
    > {
      .detached(
        query: query.timeout(after: .seconds(60)).retry(limit: 1).backoff(.noBackoff)
          .delayer(.noDelay),
        initialValue: nil, initialContext: context)
    }
    let store =
      toAContinuationInBetween
      ? store(of: block.modifier(OwnContinuation())) : store(of: block)
    try await store.fetch()
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    await clock.sleeper(within: .seconds(60))
    clock.advance(by: .seconds(60))
    #expect(try await fetch.value == 3)
    #expect(said.elements == [false])
    #expect(store.currentValue == 3)
  }

  /// An attempt that was given up is nobody's to join, and no fetch inside of itself.
  @Test(arguments: [true, false])
  func anOverdueAttemptIsNotShared(isCancellationIgnored: Bool) async throws {
    var context = QueryContext()
    for _ in 0..<20 {
      let (clock, gate, attempts) = (MockQueryClock(), Gate(), Counter())
      context.queryClock = clock
      let query = BlockQuery<Int>(["overdue"]) { _ in
        let number = attempts.increment()
        if number > 1 { return number }
        if isCancellationIgnored {
          await gate.passIgnoringCancellation()
        } else {
          try await gate.pass()
        }
        return 1
      }
      .deduplicated().timeout(after: .seconds(60)).retry(limit: 1).backoff(.noBackoff)
      .delayer(.noDelay)
      let store = QueryStore.detached(query: query, initialValue: nil, initialContext: context)
      let fetch = Task { try await store.fetch() }
      await gate.arrival()
      await clock.sleeper(within: .seconds(60))
      clock.advance(by: .seconds(60))
      #expect(try await fetch.value == 2)
      #expect(try await store.fetch() == 3)
      gate.open()
    }
  }

  @Test func insideOfARetryEachAttemptHasTheTime() async {
    let query = self.hanging().timeout(after: .milliseconds(1)).retry(limit: 2)
      .backoff(.noBackoff).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: QueryTimeoutError.self) { try await store.fetch() }
    #expect(self.attempts.value == 3)
  }

  @Test func outsideOfARetryAllAttemptsHaveItTogether() async {
    let query = self.hanging().retry(limit: 2).timeout(after: .milliseconds(1))
      .backoff(.noBackoff).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: QueryTimeoutError.self) { try await store.fetch() }
    #expect(self.attempts.value == 1)
  }

  @Test(arguments: [Duration.zero, .seconds(0.0)])
  func withNoTimeNothingIsFetched(_ duration: Duration) async {
    let store = QueryStore.detached(
      query: self.hanging().timeout(after: duration), initialValue: nil)
    await #expect(throws: QueryTimeoutError.self) { try await store.fetch() }
    #expect(self.attempts.value == 0)
  }

  @Test func cancellingTheFetchCancelsTheAttempt() async {
    let gate = Gate()
    let query = probe { _, _ in
      try await gate.pass()
      return 1
    }
    let store = QueryStore.detached(query: query.timeout(after: .seconds(3_600)), initialValue: nil)
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    fetch.cancel()
    await #expect(throws: CancellationError.self) { try await fetch.value }
  }

  @MainActor
  @Test func theRequestRunsWhereItsCallerIs() async throws {
    let query = probe { _, _ in
      MainActor.assertIsolated()
      return 3
    }
    let store = QueryStore.detached(query: query.timeout(after: 3_600), initialValue: nil)
    #expect(try await store.fetch() == 3)
  }

  @Test(arguments: [Double.infinity, .greatestFiniteMagnitude])
  func secondsWithoutAnEndAreAHundredYears(_ seconds: Double) async throws {
    let store = QueryStore.detached(
      query: ProbeQuery().timeout(after: seconds), initialValue: nil)
    #expect(try await store.fetch() == 1)
  }

  @Test func aNegativeDurationStopsTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = ProbeQuery().timeout(after: .seconds(-1))
    }
    try expectSentence("ProbeQuery: timeout(after:)", in: result)
  }

  @Test func anUndefinedNumberOfSecondsStopsTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = ProbeQuery().timeout(after: Double.nan)
    }
    try expectSentence("ProbeQuery: timeout(after:)", in: result)
  }
}
