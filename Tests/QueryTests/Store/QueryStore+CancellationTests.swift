import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreCancellationTests {
  private let client = QueryClient()
  private let gate = Gate()

  /// A query whose fetch waits at the gate, and does not notice that it is cancelled.
  private func query(_ path: QueryPath = ["probe"], yields: Bool = false) -> ProbeQuery {
    ProbeQuery(
      path: path,
      onFetch: { [gate] _, continuation in
        await gate.passIgnoringCancellation()
        if yields { continuation.yield(2) }
        return 1
      })
  }

  @Test func noResultArrivesAfterIt() async {
    let store = self.client.store(for: self.query(yields: true))
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = store.subscribe(with: collector.handler)
    await self.gate.arrival()
    store.cancelFetches()
    #expect(!store.isLoading)
    store.currentValue = 7
    self.gate.open()
    await collector.wait(for: .fetchingEnded)
    #expect(store.currentValue == 7)
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 0)
    #expect(
      collector.events == [
        .stateChanged, .stateChanged, .fetchingStarted, .stateChanged, .stateChanged,
        .fetchingEnded,
      ])
    withExtendedLifetime(subscription) {}
  }

  @Test func whoeverWaitsGetsACancellation() async {
    let store = self.client.store(for: self.query())
    let fetch = Task { try await store.fetch() }
    await self.gate.arrival()
    store.cancelFetches()
    self.gate.open()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(store.status.isIdle)
  }

  @Test func aScheduledFetchNeverRuns() async {
    let store = self.client.store(for: self.query())
    let task = store.fetchTask()
    store.cancelFetches()
    #expect(!store.isLoading)
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    #expect(self.gate.arrivals == 0)
    #expect(store.error == nil)
  }

  @Test func theNextFetchIsNotSharedWithACancelledOne() async throws {
    let store = self.client.store(for: self.query())
    let cancelled = Task { try await store.fetch() }
    await self.gate.arrival()
    store.cancelFetches()
    let next = Task { try await store.fetch() }
    await self.gate.arrival(2)
    self.gate.open()
    #expect(try await next.value == 1)
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test func fetchesOfPagesAreCancelled() async {
    let store = self.client.store(
      for: PagesQuery { [gate] call in
        await gate.passIgnoringCancellation()
        return call.id
      })
    let fetch = Task { try await store.fetchNextPage() }
    await self.gate.arrival()
    store.cancelFetches()
    #expect(!store.isLoading)
    self.gate.open()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(store.currentValue.isEmpty)
  }

  @Test func attemptsOfAMutationGoOn() async throws {
    let store = self.client.store(
      for: EchoMutation { [gate] call in
        await gate.passIgnoringCancellation()
        return call.echo
      })
    let attempt = Task { try await store.mutate(with: "a") }
    await self.gate.arrival()
    self.client.cancelFetches()
    #expect(store.isLoading)
    self.gate.open()
    #expect(try await attempt.value == "A")
  }

  @Test func aPathChoosesTheStores() async {
    let (one, other) = (self.query(["a", 1]), self.query(["b", 1]))
    let stores = [self.client.store(for: one), self.client.store(for: other)]
    let fetches = stores.map { store in Task { try await store.fetch() } }
    await self.gate.arrival(2)
    self.client.cancelFetches(matching: ["a"])
    #expect(stores.map(\.isLoading) == [false, true])
    self.gate.open()
    for fetch in fetches { _ = await fetch.result }
    #expect(stores.map(\.currentValue) == [nil, 1])
  }

  @Test func storesAreResetByPath() {
    let paths: [QueryPath] = [["a", 1], ["a", 2], ["b", 1]]
    let stores = paths.map { path in
      self.client.store(for: OtherProbeQuery(path: path))
    }
    for store in stores { store.currentValue = 5 }
    self.client.reset(matching: ["a"])
    #expect(stores.map(\.currentValue) == [nil, nil, 5])
    self.client.reset()
    #expect(stores.map(\.valueUpdateCount) == [0, 0, 0])
  }

  // MARK: - Tasks that wait for one another

  enum Call: CaseIterable {
    case storesReset, clientsReset, storesCancellation, clientsCancellation
  }

  /// Waits at the gate; if it is cancelled there, it writes down whether the waiting task is, too.
  @Sendable private func passAsking(
    _ waiting: Box<QueryTask<Int>?>, _ answers: Recorder<Bool?>
  ) async throws -> Int {
    let gate = self.gate
    return try await withTaskCancellationHandler {
      try await gate.pass()
      return 1
    } onCancel: {
      answers.append(waiting.value?.isCancelled)
    }
  }

  /// Runs a task that waits for another one, and returns when that one is at the gate.
  private func run(
    _ second: QueryTask<Int>, after first: QueryTask<Int>, _ waiting: Box<QueryTask<Int>?>
  ) async -> Task<Int, any Error> {
    second.schedule(after: first)
    waiting.value = second
    let waiter = Task { try await second.runIfNeeded() }
    await self.gate.arrival()
    return waiter
  }

  /// The waiting task was cancelled before the other one ended, and has asked for nothing.
  private func expectCancelled(
    _ waiter: Task<Int, any Error>, _ answers: Recorder<Bool?>,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    await #expect(throws: CancellationError.self, sourceLocation: sourceLocation) {
      try await waiter.value
    }
    #expect(answers.elements == [true], sourceLocation: sourceLocation)
    #expect(self.gate.arrivals == 1, sourceLocation: sourceLocation)
  }

  @Test(arguments: Call.allCases)
  func oneThatWaitsForAnotherIsCancelledWithIt(_ call: Call) async throws {
    let (waiting, answers) = (Box<QueryTask<Int>?>(nil), Recorder<Bool?>())
    let store = self.client.store(
      for: ProbeQuery(onFetch: { _, _ in try await self.passAsking(waiting, answers) }))
    let (first, second) = (store.fetchTask(), store.fetchTask())
    let waiter = await self.run(second, after: first, waiting)
    switch call {
    case .storesReset: store.reset()
    case .clientsReset: self.client.reset()
    case .storesCancellation: store.cancelFetches()
    case .clientsCancellation: self.client.cancelFetches()
    }
    await self.expectCancelled(waiter, answers)
    #expect(!store.isLoading)
  }

  @Test(arguments: [true, false], [true, false])
  func oneThatWaitsForAnotherStoreIsCancelledWithIt(
    isReset: Bool, waitsForTheFirst: Bool
  ) async throws {
    let (waiting, answers) = (Box<QueryTask<Int>?>(nil), Recorder<Bool?>())
    let paths: [QueryPath] = [["a", 1], ["a", 2]]
    let stores = paths.map { path in
      self.client.store(
        for: ProbeQuery(
          path: path, onFetch: { _, _ in try await self.passAsking(waiting, answers) }))
    }
    let tasks = stores.map { $0.fetchTask() }
    let (first, second) = waitsForTheFirst ? (tasks[0], tasks[1]) : (tasks[1], tasks[0])
    let waiter = await self.run(second, after: first, waiting)
    if isReset { self.client.reset(matching: ["a"]) } else { self.client.cancelFetches() }
    await self.expectCancelled(waiter, answers)
    #expect(stores.map(\.currentValue) == [nil, nil])
  }

  @Test(arguments: [true, false])
  func aWriteThatWaitsForAnotherIsNotSentAfterAReset(byTheClient: Bool) async throws {
    let (waiting, answers) = (Box<QueryTask<Int>?>(nil), Recorder<Bool?>())
    let store = self.client.store(
      for: ProbeMutation { _, _ in try await self.passAsking(waiting, answers) })
    let (first, second) = (store.mutateTask(with: 1), store.mutateTask(with: 2))
    let waiter = await self.run(second, after: first, waiting)
    if byTheClient { self.client.reset() } else { store.reset() }
    await self.expectCancelled(waiter, answers)
    #expect(store.history.isEmpty)
  }

  @Test func allAreCancelledWhenTheLockIsFree() async throws {
    let (waiting, answers) = (Box<QueryTask<Int>?>(nil), Recorder<Bool?>())
    let store = self.client.store(
      for: ProbeQuery(onFetch: { _, _ in try await self.passAsking(waiting, answers) }))
    let (first, second) = (store.fetchTask(), store.fetchTask())
    let waiter = await self.run(second, after: first, waiting)
    store.withExclusiveAccess { store in
      store.cancelFetches()
      #expect(answers.elements.isEmpty)
      #expect(second.isCancelled && first.isCancelled)
    }
    await self.expectCancelled(waiter, answers)
  }
}
