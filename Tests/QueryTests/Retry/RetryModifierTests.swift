import Query
import TestSupport
import Testing

private typealias Events = EventCollector<QueryState<Int?, Int>>

@Suite(.warningsAreIssues) struct RetryModifierTests {
  private let delayer = RecordingDelayer()

  // MARK: - Attempts

  @Test(arguments: 0...4) func aFailingFetchIsTriedOnceMoreThanTheLimit(limit: Int) async {
    let attempts = Recorder<Int>()
    let arguments = Recorder<Int>()
    let query = ProbeQuery(onFetch: { context, _ in
      attempts.append(context.retryIndex)
      throw TestError("\(context.retryIndex)")
    })
    .retry(limit: limit)
    .backoff(
      QueryBackoffFunction {
        arguments.append($0)
        return Double($0) * 10
      }
    )
    .delayer(self.delayer)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError("\(limit)")) { try await store.fetch() }
    #expect(attempts.elements == Array(0...limit))
    #expect(arguments.elements == Array(1..<(limit + 1)))
    #expect(self.delayer.delays == (1..<(limit + 1)).map { Double($0) * 10 })
  }

  @Test func theContextTellsWhichAttemptItIs() async {
    let flags = Recorder<[Bool]>()
    let query = ProbeQuery(onFetch: { context, _ in
      #expect(context.maxRetries == 2)
      flags.append(
        [context.isFirstFetchAttempt, context.isFirstRetryAttempt, context.isLastRetryAttempt]
      )
      throw TestError()
    })
    .retry(limit: 2).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(
      flags.elements == [[true, false, false], [false, true, false], [false, false, true]]
    )
  }

  // MARK: - The network

  private func client(
    _ clock: MockQueryClock, _ network: MockNetworkObserver, backoff: Double = 3_600
  ) -> QueryClient {
    var context = QueryContext()
    context.queryClock = clock
    return QueryClient(
      defaultContext: context,
      storeCreator: .default(
        retryLimit: 3, backoff: .constant(backoff), networkObserver: network, activityObserver: nil)
    )
  }

  /// Also if the observer reports the loss only after the attempt has failed.
  @Test(arguments: [NetworkConnectionStatus.disconnected, .connected])
  func theReturnOfTheNetworkEndsAWait(_ before: NetworkConnectionStatus) async throws {
    let (clock, network) = (MockQueryClock(), MockNetworkObserver(initialStatus: before))
    let store = self.client(clock, network).store(for: failing(times: 1))
    async let value = store.fetch()
    await clock.sleeper()
    network.send(status: .disconnected)
    network.send(status: .connected)
    #expect(try await value == 1)
    #expect(clock.now() == MockQueryClock().now(), "nothing has waited")
  }

  @Test func whatTheServerHasAskedForIsWaitedForWhateverTheNetwork() async throws {
    let (clock, network) = (MockQueryClock(), MockNetworkObserver(initialStatus: .disconnected))
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      if attempts.value > 1 { return 7 }
      throw HTTPStatusError(statusCode: 503, retryAfter: .seconds(20))
    })
    let store = self.client(clock, network, backoff: 10).store(for: query)
    let fetch = Task { try await store.fetch() }
    await clock.sleeper(within: .seconds(20))
    network.send(status: .connected)
    clock.advance(by: .seconds(19))
    #expect(attempts.value == 1)
    clock.advance(by: .seconds(1))
    #expect(try await fetch.value == 7)
  }

  @Test func aFetchThatIsCancelledWhileItWaitsForTheNetworkEnds() async throws {
    let (clock, network) = (MockQueryClock(), MockNetworkObserver(initialStatus: .disconnected))
    let store = self.client(clock, network).store(for: failing(times: 9))
    let fetch = Task { try await store.fetch() }
    await clock.sleeper()
    fetch.cancel()
    await #expect(throws: CancellationError.self) { try await fetch.value }
  }

  @Test func theFirstSuccessEndsTheAttempts() async throws {
    let store = QueryStore.detached(
      query: failing(times: 2).retry(limit: 5).delayer(self.delayer).backoff(.constant(3)),
      initialValue: nil
    )
    #expect(try await store.fetch() == 2)
    #expect(self.delayer.delays == [3, 3])
    #expect(store.context.retryIndex == 0)
  }

  @Test func eachFetchHasAttemptsOfItsOwn() async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    .retry(limit: 1).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    for expected in [2, 4] {
      await #expect(throws: TestError()) { try await store.fetch() }
      #expect(attempts.value == expected)
    }
  }

  @Test func pagesAndMutationsAreRetriedToo() async throws {
    let attempts = Recorder<Int>()
    let mutation = ProbeMutation(onMutate: { argument, context in
      attempts.append(context.retryIndex)
      if context.isFirstFetchAttempt { throw TestError() }
      return argument
    })
    .retry(limit: 1).delayer(.noDelay)
    let store = QueryStore.detached(mutation: mutation)
    #expect(try await store.mutate(with: 5) == 5)
    #expect(store.history.count == 1)
    #expect(attempts.elements == [0, 1])
  }

  @Test func aRetryOfAllPagesResumesAfterTheLastGoodPage() async throws {
    let ids = Recorder<Int>()
    let pages = ProbePages(onFetch: { id, context in
      ids.append(id)
      if context.queryTaskConfiguration.name == "refetch", id == 2, ids.count < 9 {
        throw TestError()
      }
      return "page \(id)"
    })
    .retry(limit: 3).delayer(.noDelay)
    let store = QueryStore.detached(query: pages)
    for _ in 0...2 { try await store.fetchNextPage() }
    try await store.fetchAllPages(using: QueryTaskConfiguration(name: "refetch"))
    #expect(ids.elements == [0, 1, 2] + [0, 1, 2, 2, 2, 2])
    #expect(store.currentValue.map(\.id) == [0, 1, 2])
  }

  // MARK: - The store

  @Test func errorsOfFailedAttemptsDoNotReachTheStoreButYieldsDo() async throws {
    let query = ProbeQuery(onFetch: { context, continuation in
      continuation.yield(10 + context.retryIndex)
      if context.isLastRetryAttempt { return 1 }
      throw TestError()
    })
    .retry(limit: 2).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    let collector = Events()
    try await store.fetch(handler: collector.handler)
    #expect(
      collector.events == [
        .stateChanged, .fetchingStarted,
        .yielded("10"), .stateChanged, .yielded("11"), .stateChanged, .yielded("12"), .stateChanged,
        .returned("1"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(store.errorUpdateCount == 0)
    #expect(store.valueUpdateCount == 4)
    #expect(collector.states.dropLast().allSatisfy { $0.isLoading })
  }

  @Test func theLastErrorReachesTheStoreOnce() async {
    let query = ProbeQuery(onFetch: { context, _ in throw TestError("\(context.retryIndex)") })
      .retry(limit: 3).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError("3")) { try await store.fetch() }
    #expect(store.error as? TestError == TestError("3"))
    #expect(store.errorUpdateCount == 1)
  }

  // MARK: - Several layers

  @Test(arguments: [(2, 3), (3, 2), (1, 0)]) func ofTwoLayersTheInnerLoopsAndItsLimitWins(
    inner: Int,
    outer: Int
  ) async {
    let order = Recorder<String>()
    let query = ProbeQuery(onFetch: { context, _ in
      order.append("\(context.retryIndex)/\(context.maxRetries)")
      throw TestError()
    })
    .traced("a") { order.append($0) }
    .retry(limit: inner)
    .traced("b") { order.append($0) }
    .retry(limit: outer)
    .traced("c") { order.append($0) }
    .delayer(self.delayer)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(
      order.elements == ["c", "b"] + (0...inner).flatMap { ["a", "\($0)/\(inner)"] }
    )
    #expect(self.delayer.delays.count == inner)
  }

  @Test func aLayerWithoutRetriesNearTheRequestTurnsOuterOnesOff() async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    .retry(limit: 0).retry(limit: 3).retry(limit: 5).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(attempts.value == 1)
  }

  @Test func theClientsLayerPassesThrough() async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    let client = QueryClient.quiet(.default(retryLimit: 3, delayer: .noDelay, networkObserver: nil))
    await #expect(throws: TestError()) { try await client.store(for: query).fetch() }
    #expect(attempts.value == 4)
    client.clearStores()
    await #expect(throws: TestError()) {
      try await client.store(for: query.retry(limit: 1)).fetch()
    }
    #expect(attempts.value == 6)
  }

  @Test(arguments: [(10, 11), (1, 2), (0, 1), (-4, 1)])
  func theContextsLimitOverridesTheModifiers(limit: Int, attemptCount: Int) async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    .retry(limit: 3).retry(limit: 2).delayer(.noDelay)
    let store = QueryStore.detached(query: query, initialValue: nil)
    store.context.maxRetries = limit
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(attempts.value == attemptCount)
  }

  @Test func aLimitInTheContextOfOneFetchCounts() async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    .retry(limit: 3).retry(limit: 2)
    let store = QueryStore.detached(query: query, initialValue: nil)
    var context = QueryContext()
    await #expect(throws: TestError()) { try await store.fetch(using: context) }
    #expect(attempts.value == 1)
    context.maxRetries = 4
    context.queryDelayer = .noDelay
    await #expect(throws: TestError()) { try await store.fetch(using: context) }
    #expect(attempts.value == 6)
  }

  @Test func withoutTheModifierTheContextsLimitRetriesNothing() async {
    let attempts = Counter()
    let query = ProbeQuery(onFetch: { _, _ in
      attempts.increment()
      throw TestError()
    })
    let store = QueryStore.detached(query: query, initialValue: nil)
    store.context.maxRetries = 3
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(attempts.value == 1)
  }

  /// A query that fails so often in a row, and then returns how often it failed.
  private func failing(times: Int) -> ProbeQuery {
    ProbeQuery(onFetch: { context, _ in
      if context.retryIndex < times { throw TestError() }
      return context.retryIndex
    })
  }
}
