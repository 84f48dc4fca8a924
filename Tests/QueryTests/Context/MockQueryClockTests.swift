import Foundation
import Query
import TestSupport
import Testing

/// What goes by a test's clock, so that no test waits: each wait here would take an hour or more.
@Suite(.warningsAreIssues, .timeLimit(.minutes(10))) struct MockQueryClockTests {
  private let clock = MockQueryClock()

  private func client(_ storage: (any QueryStorage)? = nil) -> QueryClient {
    var context = QueryContext()
    context.queryClock = self.clock
    context.queryStorage = storage
    return QueryClient(
      defaultContext: context,
      storeCreator: .default(networkObserver: nil, activityObserver: nil))
  }

  private let attempts = Counter()

  /// A query that fails so often, and waits for an hour each time.
  private func failing(
    times: Int
  ) -> some QueryRequest<Int, QueryState<Int?, Int>> {
    BlockQuery<Int>(["failing"]) { [attempts] _ in
      attempts.increment()
      guard attempts.value > times else { throw TestError() }
      return 1
    }
    .retry(limit: times).backoff(.constant(3_600))
  }

  @Test func theWaitsBetweenAttemptsGoByIt() async throws {
    let store = self.client().store(for: self.failing(times: 2))
    async let value = store.fetch()
    for attempt in 1...2 {
      await self.clock.sleeper(within: .seconds(3_600))
      #expect(self.attempts.value == attempt)
      self.clock.advance(by: .seconds(3_599))
      #expect(self.attempts.value == attempt)
      self.clock.advance(by: .seconds(1))
    }
    #expect(try await value == 1)
    #expect(store.valueLastUpdatedAt == self.clock.now())
  }

  @Test func aDelayerOfTheContextComesBeforeIt() async throws {
    let query = self.failing(times: 1).delayer(.noDelay)
    #expect(try await self.client().store(for: query).fetch() == 1)
  }

  @Test func aTimeoutGoesByIt() async throws {
    let query = BlockQuery<Int>(["slow"]) { _ in
      try await Gate().pass()
      return 1
    }
    .timeout(after: .seconds(3_600)).retry(limit: 0)
    let store = self.client().store(for: query)
    let fetch = Task { try await store.fetch() }
    await self.clock.sleeper(within: .seconds(3_600))
    self.clock.advance(by: .seconds(3_600))
    await #expect(throws: QueryTimeoutError.self) { try await fetch.value }
  }

  @Test func periodicRefetchesGoByIt() async throws {
    let fetches = Locked(0)
    let numbers = AsyncStream<Int>.makeStream()
    let query = BlockQuery<Int>(["polled"]) { _ in
      fetches.withLock {
        $0 += 1
        return $0
      }
    }
    .refetch(every: .seconds(3_600))
    let store = self.client().store(for: query)
    let subscription = store.subscribe(
      with: QueryEventHandler(onResultReceived: { result, _ in
        if let number = try? result.get() { numbers.continuation.yield(number) }
      }))
    defer { subscription.cancel() }
    var iterator = numbers.stream.makeAsyncIterator()
    for number in 1...3 {
      #expect(await iterator.next() == number)
      await self.clock.sleeper(within: .seconds(3_600))
      self.clock.advance(by: .seconds(3_600))
    }
  }

  @Test func theTimeLimitOfAnAttemptGoesByIt() async throws {
    let mutation = BlockMutation(["slow"]) { (_: Int, _) in
      try await Gate().pass()
      return 1
    }
    .persisted(as: "slow", .init(attemptTimeout: .seconds(7_200)))
    let store = self.client(MemoryQueryStorage(clock: self.clock)).store(for: mutation)
    let sending = Task { try await store.mutate(with: 1) }
    await self.clock.sleeper(within: .seconds(7_200))
    self.clock.advance(by: .seconds(7_200))
    let error = await #expect(throws: MutationQueuedError.self) { try await sending.value }
    #expect(error?.underlyingError is QueryTimeoutError)
  }

  @Test func whoIsCancelledBeforeItSleepsDoesNotGoOn() async {
    let sleep = Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.delay(for: 3_600)
    }
    await #expect(throws: CancellationError.self) { try await sleep.value }
  }

  @Test func aSleeperIsOneWhoseWaitEndsInTime() async throws {
    let hasSeen = Locked([String]())
    let late = Task { try await self.clock.delay(for: 100) }
    await self.clock.sleeper()
    let observation = Task {
      await self.clock.sleeper(within: .seconds(10))
      hasSeen.withLock { $0.append("early") }
    }
    let early = Task { try await self.clock.delay(for: 5) }
    await observation.value
    #expect(hasSeen.withLock { $0 } == ["early"])
    self.clock.advance(by: .seconds(5))
    try await early.value
    let inVain = Task { await self.clock.sleeper(within: .seconds(1)) }
    inVain.cancel()
    await inVain.value
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
  }

  /// As of the date that an entry of the outbox is due at.
  @Test func theDifferenceOfTwoDatesIsLongEnough() async throws {
    for microseconds in stride(from: 1_000_003, to: 3_000_000, by: 98_765) {
      let due = self.clock.now() + Double(microseconds) / 1_000_000
      let end = self.clock.elapsed + .microseconds(microseconds)
      let sleeper = Task { [clock] in try await clock.sleep(until: end) }
      let difference = Duration.seconds(due.timeIntervalSince(self.clock.now()))
      await self.clock.sleeper(within: difference)
      self.clock.advance(by: difference)
      try await sleeper.value
      #expect(self.clock.elapsed >= end)
    }
  }

  /// The clock moves on to its end, and the next move knows nothing of it any more.
  @Test func aWaitThatIsAMicrosecondLongerEndsOnce() async throws {
    let end = self.clock.elapsed + .seconds(1) + .microseconds(1)
    let sleeper = Task { [clock] in try await clock.sleep(until: end) }
    await self.clock.sleeper(within: .seconds(2))
    self.clock.advance(by: .seconds(1))
    try await sleeper.value
    #expect(self.clock.elapsed == end)
    self.clock.advance(by: .seconds(1))
    #expect(self.clock.elapsed == end + .seconds(1))
  }
}
