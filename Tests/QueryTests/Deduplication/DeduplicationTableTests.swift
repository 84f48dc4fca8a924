import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct DeduplicationTableTests {
  @Test @MainActor func aThousandFetchesAtOnceAreOneCall() async throws {
    let gate = Gate()
    let query = SharedQuery(gate)
    let predicate = AskingPredicate()
    let store = query.deduplicated(by: predicate.isDuplicate).sharedStore()
    let fetches = (0..<1_000).map { _ in store.fetchInTask() }
    // All but the first have joined when the predicate was called for each.
    await predicate.questions.wait(forCount: 999)
    gate.open()
    for fetch in fetches { #expect(try await fetch.value == 1) }
    #expect(query.fetches.value == 1)
    #expect(store.valueUpdateCount == 1_000)
    #expect(!store.isLoading)
  }

  @Test func aThousandDifferentFetchesAtOnceAreAsManyCalls() async throws {
    let gate = Gate()
    let query = SharedQuery(gate)
    let store = query.deduplicated { _, _ in false }.sharedStore()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 { group.addTask { try await store.fetch() } }
      await gate.arrival(200)
      gate.open()
      var values = Set<Int>()
      for try await value in group { values.insert(value) }
      #expect(values == Set(1...200))
    }
    #expect(store.valueUpdateCount == 200)
  }

  @Test func ofFirstFetchesAtOnceOneIsTheFirst() async throws {
    for _ in 0..<200 {
      let gate = Gate()
      let query = SharedQuery(gate)
      let store = query.deduplicated().sharedStore()
      async let first = store.fetch()
      async let second = store.fetch()
      await store.waitForState { $0.activeTasks.count == 2 }
      gate.open()
      let values = try await (first, second)
      #expect(values == (1, 1), "both were under way")
      #expect(query.fetches.value == 1)
    }
  }

  /// A store whose fetches but the first are held up on their way to the deduplication.
  private func storeWithDelay(
    _ query: SharedQuery, _ delay: Gate
  ) -> QueryStore<SharedState> {
    query.deduplicated().modifier(DelayLayer(delay: delay, fetches: Counter())).sharedStore()
  }

  /// Begins two fetches: the first is at the gate of its request, the second on its way.
  @MainActor private func fetchTwice(
    _ store: QueryStore<SharedState>, _ gate: Gate, _ delay: Gate
  ) async -> (first: Task<Int, any Error>, second: Task<Int, any Error>) {
    let first = store.fetchInTask()
    await gate.arrival()
    let second = store.fetchInTask()
    await delay.arrival()
    return (first, second)
  }

  /// It shares what it would have shared had it come in time.
  @Test @MainActor func aFetchThatComesWhenTheOneIsOverThatRanAsItWasMadeSharesItsResult()
    async throws
  {
    let (gate, delay) = (Gate(), Gate())
    let query = SharedQuery(gate)
    let store = self.storeWithDelay(query, delay)
    let (first, second) = await self.fetchTwice(store, gate, delay)
    gate.open()
    #expect(try await first.value == 1)
    delay.open()
    #expect(try await second.value == 1)
    #expect(query.fetches.value == 1)
    #expect(store.valueUpdateCount == 2, "each fetch has an update of its own")
    #expect(try await store.fetch() == 2, "one that is made later does its own work")
  }

  @Test @MainActor func oneThatComesLateDoesNotReplaceAValueThatWasSetMeanwhile() async throws {
    let (gate, delay) = (Gate(), Gate())
    let query = SharedQuery(gate)
    let store = self.storeWithDelay(query, delay)
    let (first, second) = await self.fetchTwice(store, gate, delay)
    gate.open()
    #expect(try await first.value == 1)
    store.currentValue = 5
    delay.open()
    #expect(try await second.value == 1, "its caller has what it has shared")
    #expect(store.currentValue == 5 && store.valueUpdateCount == 2)
    #expect(query.fetches.value == 1)
  }

  /// The threads of callers that share a result are not equally fast.
  @Test(arguments: [true, false]) @MainActor
  func oneThatIsSlowerThanALaterFetchReplacesNothing(hasFailed: Bool) async throws {
    let (gate, delay) = (Gate(), Gate())
    let query = SharedQuery { call in
      try await gate.pass()
      if hasFailed && call.number == 1 { throw TestError() }
      return call.number
    }
    let store = query.deduplicated()
      .modifier(DelayLayer(delay: delay, fetches: Counter(), isOnWayBack: true)).sharedStore()
    let first = store.fetchInTask()
    await gate.arrival()
    let slow = store.fetchInTask()
    await store.waitForState { $0.activeTasks.count == 2 }
    gate.open()
    _ = await first.result
    await delay.arrival()
    #expect(try await store.fetch() == 2)
    let before = store.valueUpdateCount
    delay.open()
    let result = await slow.result
    #expect((try? result.get()) == (hasFailed ? nil : 1), "its caller has what it has shared")
    #expect(store.currentValue == 2 && store.error == nil)
    #expect(store.valueUpdateCount == before && store.errorUpdateCount == (hasFailed ? 1 : 0))
    #expect(query.fetches.value == 2)
  }

  @Test @MainActor func oneThatComesLateSharesTheErrorToo() async throws {
    let (gate, delay) = (Gate(), Gate())
    let query = SharedQuery { call in
      try await gate.pass()
      throw TestError()
    }
    let store = self.storeWithDelay(query, delay)
    let (first, second) = await self.fetchTwice(store, gate, delay)
    gate.open()
    await #expect(throws: TestError.self) { try await first.value }
    delay.open()
    await #expect(throws: TestError.self) { try await second.value }
    #expect(query.fetches.value == 1 && store.errorUpdateCount == 2)
  }

  @Test(arguments: [true, false]) @MainActor
  func oneThatComesLateDoesItsOwnWorkBehindAResetOrAnInvalidation(isReset: Bool) async throws {
    let (gate, delay) = (Gate(), Gate())
    let query = SharedQuery(gate)
    let store = self.storeWithDelay(query, delay)
    let first = store.fetchInTask()
    await gate.arrival()
    if isReset { store.reset() } else { store.invalidate() }
    let second = store.fetchInTask()
    await delay.arrival()
    gate.open()
    _ = await first.result
    delay.open()
    #expect(try await second.value == 2)
    #expect(store.currentValue == 2)
  }

  /// Nothing is kept for one that never comes.
  @Test @MainActor func oneThatIsCancelledOnItsWayLeavesNothingBehind() async throws {
    let (gate, delay) = (Gate(), Gate())
    let store = self.storeWithDelay(SharedQuery(gate), delay)
    let table = try #require(store.context.deduplicationTable(of: Int.self))
    let (first, second) = await self.fetchTwice(store, gate, delay)
    #expect(table.state.withLock { $0.expected } == 1)
    gate.open()
    #expect(try await first.value == 1)
    #expect(table.state.withLock { $0.ended.count } == 1)
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    #expect(table.state.withLock { ($0.expected, $0.ended.count) } == (0, 0))
  }

  /// It may be the last to hold a value whose `deinit` fetches.
  @Test func whatOneWasToShareIsReleasedOutsideTheLock() throws {
    let store = SharedQuery { $0.number }.deduplicated().sharedStore()
    let table = try #require(store.context.deduplicationTable(of: Int.self))
    func end() -> SharedFetch<Int> {
      var context = store.context
      context[QueryContext.RunningTaskKey.self] = RunningTask(
        id: .next(), owner: StoreFetch(store: store))
      let shared = SharedFetch(context: context, continuation: QueryContinuation<Int> { _, _ in })
      table.end(shared)
      return shared
    }
    let work = StoreFetch(store: store)
    let first = end()
    table.expect(work)
    for _ in 0..<DeduplicationTable<Int>.endedLimit { _ = end() }
    #expect(!table.state.withLock { $0.ended.contains { $0.fetch === first } })
    #expect(table.state.withLock { $0.arrive(work) }.contains { $0 === first })
  }

  @Test func aTaskThatIsRunLaterBringsWhatIsThereThen() async throws {
    let query = SharedQuery { call in call.number }
    let store = query.deduplicated().sharedStore()
    let task = store.fetchTask()
    #expect(try await store.fetch() == 1)
    #expect(try await task.runIfNeeded() == 2)
  }

  /// Callers that come and are cancelled at random: each gets a value or a cancellation, and no
  /// caller waits for ever.
  @Test(.timeLimit(.minutes(10)), arguments: [UInt64(1), 2, 3, 4])
  func randomCancellations(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let query = SharedQuery { call in
      for _ in 0..<call.number % 7 { await Task.yield() }
      if call.number.isMultiple(of: 5) { throw TestError() }
      return call.number
    }
    let store = query.deduplicated().sharedStore()
    let outcomes = Recorder<String>()
    let results = Counter()
    let values = Recorder<Int>()
    let subscription = store.subscribe(
      with: QueryEventHandler(
        onStateChanged: { state, _ in if let value = state.currentValue { values.append(value) } },
        onResultReceived: { _, _ in results.increment() }
      ))
    defer { subscription.cancel() }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2_000 {
        let patience = Int.random(in: 0...6, using: &random)
        group.addTask {
          let task = Task { try await store.fetch() }
          if patience < 5 {
            for _ in 0..<patience { await Task.yield() }
            task.cancel()
          }
          do {
            let value = try await task.value
            outcomes.append(value > 0 ? "value" : "wrong")
          } catch {
            outcomes.append(error is CancellationError ? "cancelled" : "\(error)")
          }
        }
      }
    }
    let expected: Set<String> = ["value", "cancelled", "TestError(expected)"]
    #expect(outcomes.count == 2_000, "seed \(seed)")
    #expect(Set(outcomes.elements).isSubset(of: expected), "seed \(seed)")
    #expect(!store.isLoading, "seed \(seed)")
    #expect(results.value == 2_000, "seed \(seed): each fetch tells of its result once")
    // A caller that is slower than a later fetch brings what the store no longer takes.
    #expect(store.valueUpdateCount + store.errorUpdateCount <= 2_000, "seed \(seed)")
    #expect(values.elements == values.elements.sorted(), "seed \(seed): no value goes back")
    // Nothing is left behind that a new fetch would join.
    let before = query.fetches.value
    _ = try? await store.fetch()
    #expect(query.fetches.value == before + 1, "seed \(seed)")
  }
}

/// Lets the first fetch pass, and holds the others up at a gate, or the second on its way back.
private struct DelayLayer<Query: QueryRequest>: QueryModifier {
  let delay: Gate
  let fetches: Counter
  var isOnWayBack = false

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    let number = self.fetches.increment()
    if !self.isOnWayBack {
      if number > 1 { try await self.delay.pass() }
      return try await query.fetch(in: context, with: continuation)
    }
    let result: Result<Query.Value, any Error>
    do {
      result = .success(try await query.fetch(in: context, with: continuation))
    } catch {
      result = .failure(error)
    }
    if number == 2 { try await self.delay.pass() }
    return try result.get()
  }
}
