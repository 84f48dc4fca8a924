import Foundation
import Query
import TestSupport
import Testing

@MainActor @Suite(.warningsAreIssues) struct SharedFetchTests {
  private let gate = Gate()
  private let predicate = AskingPredicate()

  private func store(_ query: SharedQuery) -> QueryStore<SharedState> {
    query.deduplicated(by: self.predicate.isDuplicate).sharedStore()
  }

  /// Starts a number of fetches, the first of which runs the query, and returns when all wait.
  private func start(_ count: Int, on store: QueryStore<SharedState>) async
    -> [Task<Int, any Error>]
  {
    var tasks = [store.fetchInTask()]
    await self.gate.arrival()
    for number in 1..<count {
      tasks.append(store.fetchInTask())
      await self.predicate.questions.wait(forCount: number)
    }
    return tasks
  }

  // MARK: - Leaving

  @Test func aWaiterThatIsCancelledLeavesAlone() async throws {
    let query = SharedQuery(self.gate)
    let tasks = await self.start(3, on: self.store(query))
    tasks[1].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[1].value }
    self.gate.open()
    #expect(try await tasks[0].value == 1)
    #expect(try await tasks[2].value == 1)
    #expect(query.fetches.value == 1)
  }

  @Test func theFirstCallerThatIsCancelledLeavesAlone() async throws {
    let query = SharedQuery(self.gate)
    let tasks = await self.start(3, on: self.store(query))
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    self.gate.open()
    #expect(try await tasks[1].value == 1)
    #expect(try await tasks[2].value == 1)
    #expect(query.fetches.value == 1)
  }

  @Test func aLaterCallerStillJoinsAfterTheFirstHasLeft() async throws {
    let query = SharedQuery(self.gate)
    let store = self.store(query)
    let tasks = await self.start(2, on: store)
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    let third = store.fetchInTask()
    await self.predicate.questions.wait(forCount: 2)
    self.gate.open()
    #expect(try await (tasks[1].value, third.value) == (1, 1))
  }

  @Test func theSharedFetchIsCancelledWhenTheLastHasLeft() async throws {
    let ended = Recorder<Bool>()
    let query = SharedQuery { [gate] call in
      defer { ended.append(Task.isCancelled) }
      try await gate.pass()
      return call.number
    }
    let store = self.store(query)
    let tasks = await self.start(3, on: store)
    for task in tasks.dropLast() {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(ended.count == 0)
    tasks[2].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[2].value }
    await ended.wait(forCount: 1)
    #expect(ended.elements == [true])
    #expect(store.errorUpdateCount == 3)
    #expect(store.status.isCancelled)
  }

  @Test func aFetchThatComesAfterAllHaveLeftStartsAnew() async throws {
    // The abandoned fetch ignores that it is cancelled, and goes on.
    let second = Gate()
    let query = SharedQuery { [gate] call in
      if call.number == 1 {
        await gate.passIgnoringCancellation()
      } else {
        try await second.pass()
      }
      return call.number
    }
    let store = self.store(query)
    let tasks = await self.start(2, on: store)
    for task in tasks {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    let anew = store.fetchInTask()
    await second.arrival()
    let joined = store.fetchInTask()
    await self.predicate.questions.wait(forCount: 2)
    self.gate.open()
    second.open()
    #expect(try await (anew.value, joined.value) == (2, 2))
    #expect(query.fetches.value == 2)
  }

  @Test func afterAResetAFetchStartsAnewAtOnce() async throws {
    let second = Gate()
    let query = SharedQuery { [gate] call in
      await (call.number == 1 ? gate : second).passIgnoringCancellation()
      return call.number
    }
    let store = self.store(query)
    let tasks = await self.start(2, on: store)
    store.reset()
    let anew = store.fetchInTask()
    await second.arrival()
    self.gate.open()
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(store.currentValue == nil)
    second.open()
    #expect(try await anew.value == 2)
    #expect(store.currentValue == 2)
    #expect(store.valueUpdateCount == 1 && store.errorUpdateCount == 0)
  }

  /// By a reset, or by `cancelFetches()`.
  @Test(arguments: [true, false])
  func whatBeginsWhileAStoreTellsThatItForgotAFetchDoesNotShareThatOne(
    isReset: Bool
  ) async throws {
    let second = Gate()
    // The fetches that have come to the question whether they are duplicates, or to the request.
    let arrivals = Recorder<String>()
    let query = SharedQuery { [gate] call in
      arrivals.append("request")
      try await (call.number == 1 ? gate : second).pass()
      return call.number
    }
    let predicate = AskingPredicate { _, _ in
      arrivals.append("question")
      return true
    }
    let store = query.deduplicated(by: predicate.isDuplicate).sharedStore()
    let older = store.fetchInTask()
    await self.gate.arrival()
    arrivals.removeAll()
    let (told, tellings, goOn) = (Recorder<Bool>(), Counter(), DispatchSemaphore(value: 0))
    let subscription = store.subscribe { state in
      // The store cancels what it forgot once its handlers know.
      guard !state.isLoading, tellings.increment() == 1 else { return }
      told.append(true)
      goOn.wait()
    }
    Thread.detachNewThread {
      if isReset { store.reset() } else { store.cancelFetches() }
    }
    await told.wait(forCount: 1)
    let newer = store.fetchInTask()
    // On the main actor, those that were asked have joined by the time that this goes on.
    await arrivals.wait(forCount: 1)
    goOn.signal()
    await #expect(throws: CancellationError.self) { try await older.value }
    self.gate.open()
    second.open()
    #expect(try await newer.value == 2)
    #expect(store.currentValue == 2)
    subscription.cancel()
  }

  @Test func leavingAnAutomaticFetchDoesNotEndAFetchThatJoinedIt() async throws {
    let query = SharedQuery(self.gate)
    let store = query.deduplicated(by: self.predicate.isDuplicate)
      .enableAutomaticFetching(onlyWhen: .always(true)).sharedStore()
    let subscription = store.subscribe(with: QueryEventHandler())
    await self.gate.arrival()
    let manual = store.fetchInTask()
    await self.predicate.questions.wait(forCount: 1)
    subscription.cancel()
    self.gate.open()
    #expect(try await manual.value == 1)
    #expect(store.currentValue == 1)
  }

  @Test func aCallerThatIsCancelledAlreadyStillRunsTheRequestCancelled() async throws {
    let wasCancelled = Recorder<Bool>()
    let query = SharedQuery { call in
      wasCancelled.append(Task.isCancelled)
      try Task.checkCancellation()
      return call.number
    }
    let store = self.store(query)
    let events = EventCollector<SharedState>()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.fetch(handler: events.handler)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(wasCancelled.elements == [true])
    #expect(
      events.events == [
        .stateChanged, .fetchingStarted, .returned("CancellationError()"), .stateChanged,
        .fetchingEnded,
      ]
    )
    #expect(try await store.fetch() == 2)
  }

  @Test func aCancelledDuplicateLeavesAtOnce() async throws {
    let query = SharedQuery(self.gate)
    let store = self.store(query)
    let tasks = await self.start(1, on: store)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.fetch()
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    self.gate.open()
    #expect(try await tasks[0].value == 1)
    #expect(query.fetches.value == 1)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func callersThatComeAndGoAtAnyMomentAllEnd(seed: UInt64) async throws {
    let query = SharedQuery { call in
      for _ in 0..<200 {
        try Task.checkCancellation()
        await Task.yield()
      }
      return call.number
    }
    let store = query.deduplicated().sharedStore()
    let callers = (0..<200).map { number in
      Task.detached {
        var generator = SeededGenerator(seed: seed &+ UInt64(number) << 8)
        let fetch = Task { try await store.fetch() }
        for _ in 0..<Int.random(in: 0..<40, using: &generator) { await Task.yield() }
        if Bool.random(using: &generator) { fetch.cancel() }
        return await fetch.result
      }
    }
    var ends = [Result<Int, any Error>]()
    for caller in callers { ends.append(await caller.value) }
    for case .failure(let error) in ends { #expect(error is CancellationError) }
    for case .success(let number) in ends { #expect(1...query.fetches.value ~= number) }
    #expect(store.activeTasks.isEmpty)
    // Nobody is left who would be joined.
    #expect(try await store.fetch() == query.fetches.value)
  }

  // MARK: - Yields

  @Test func yieldsReachTheFirstFetchOnly() async throws {
    let query = SharedQuery { [gate] call in
      try await gate.pass()
      call.continuation.yield(5)
      call.continuation.yield(error: TestError())
      return call.number
    }
    let store = self.store(query)
    let events = EventCollector<SharedState>()
    let subscription = store.subscribe(with: events.handler)
    let tasks = await self.start(2, on: store)
    self.gate.open()
    for task in tasks { _ = try await task.value }
    #expect(events.events.count { $0 == .yielded("5") } == 1)
    #expect(events.events.count { $0 == .yielded("TestError(expected)") } == 1)
    #expect(store.valueUpdateCount == 3)
    #expect(
      events.contexts(of: .yielded("5")).first?.queryRunningTaskIdentifier
        == events.contexts(of: .fetchingStarted).first?.queryRunningTaskIdentifier
    )
    subscription.cancel()
  }

  @Test func aYieldAfterTheFirstHasLeftGoesNowhere() async throws {
    let query = SharedQuery { [gate] call in
      try await gate.pass()
      call.continuation.yield(5)
      return call.number
    }
    let store = self.store(query)
    let tasks = await self.start(2, on: store)
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    let events = EventCollector<SharedState>()
    let subscription = store.subscribe(with: events.handler)
    await withExpectedWarnings([]) {
      self.gate.open()
      _ = try? await tasks[1].value
    }
    #expect(events.events == [.stateChanged, .returned("1"), .stateChanged, .fetchingEnded])
    #expect(store.valueUpdateCount == 1)
    subscription.cancel()
  }

  @Test func aYieldThatIsOnItsWayWhileTheFirstLeavesIsNoWarning() async throws {
    let executor = HoldingExecutor()
    let first = Box<Task<Int, any Error>?>(nil)
    let query = SharedQuery { [gate] call in
      try await gate.pass()
      call.continuation.yield(5)
      return call.number
    }
    let store = query.deduplicated(by: self.predicate.isDuplicate)
      .modifier(
        YieldLayer {
          // The first ends in here, between the shared fetch and the store.
          executor.runWhatComes { first.value?.cancel() }
        }
      )
      .sharedStore()
    var configuration = QueryTaskConfiguration()
    configuration.executorPreference = executor
    try await withExpectedWarnings([]) {
      let leader = Task { @concurrent [configuration] in
        try await store.fetch(using: configuration)
      }
      first.value = leader
      await self.gate.arrival()
      let second = store.fetchInTask()
      await self.predicate.questions.wait(forCount: 1)
      self.gate.open()
      let value = try await second.value
      #expect(value == 1)
      await #expect(throws: CancellationError.self) { try await leader.value }
    }
    #expect(query.fetches.value == 1)
    #expect(store.currentValue == 1)
  }

  @Test func aYieldAfterTheFetchReturnedIsAWarning() async throws {
    let continuations = Recorder<QueryContinuation<Int>>()
    let query = SharedQuery { call in
      continuations.append(call.continuation)
      return call.number
    }
    let store = self.store(query)
    try await store.fetch()
    await withExpectedWarnings([
      .queryYieldedAfterReturning(Result<Int, any Error>.success(9))
    ]) {
      continuations.elements[0].yield(9)
    }
    #expect(store.currentValue == 1)
    #expect(store.valueUpdateCount == 1)
  }

  // MARK: - The shared task

  @Test func theSharedFetchHasTheNameAndPriorityOfTheFirst() async throws {
    let seen = Recorder<String?>()
    let priorities = Recorder<TaskPriority>()
    let query = SharedQuery { call in
      seen.append(Task.name)
      priorities.append(Task.currentPriority)
      return call.number
    }
    let store = self.store(query)
    try await store.fetch(using: QueryTaskConfiguration(name: "Mine", priority: .utility))
    #expect(seen.elements == ["Mine"])
    #expect(priorities.elements == [.utility])
  }

  @Test func theSharedFetchRunsOnThePreferredExecutor() async throws {
    let executor = CountingExecutor()
    let hops = Recorder<Int>()
    let query = SharedQuery { call in
      hops.append(executor.count)
      await Task.yield()
      hops.append(executor.count)
      return call.number
    }
    let plain = query.sharedStore()
    var configuration = QueryTaskConfiguration()
    configuration.executorPreference = executor
    let fetch = Task.detached { [configuration] in try await plain.fetch(using: configuration) }
    _ = try await fetch.value
    let alone = hops.removeAll()
    #expect(alone[1] > alone[0])
    let store = self.store(query)
    let shared = Task.detached { [configuration] in try await store.fetch(using: configuration) }
    _ = try await shared.value
    let together = hops.removeAll()
    #expect(together[1] > together[0])
  }

  @Test func theSharedFetchRunsOnTheActorOfTheFirst() async throws {
    let isOnMainActor = Recorder<Bool>()
    // No capture list: with Swift 6.3.1 a closure that has one loses the actor of its caller.
    let gate = self.gate
    let query = SharedQuery { call in
      isOnMainActor.append(isMain(#isolation))
      try await gate.pass()
      isOnMainActor.append(isMain(#isolation))
      return call.number
    }
    let store = self.store(query)
    let first = store.fetchInTask()
    await self.gate.arrival()
    let second = Task.detached { try await store.fetch() }
    await self.predicate.questions.wait(forCount: 1)
    self.gate.open()
    _ = try await (first.value, second.value)
    #expect(isOnMainActor.elements == [true, true])
  }
}

// Apart, since the optimizer of Swift 6.3.1 makes invalid code of it inside the closure above.
@inline(never)
private func isMain(_ isolation: (any Actor)?) -> Bool { isolation === MainActor.shared }

/// Runs jobs on threads of the system, and counts them.
private final class CountingExecutor: TaskExecutor {
  private let counter = Counter()

  var count: Int { self.counter.value }

  func enqueue(_ job: consuming ExecutorJob) {
    self.counter.increment()
    let job = UnownedJob(job)
    let executor = self.asUnownedTaskExecutor()
    Task.detached { job.runSynchronously(on: executor) }
  }
}

/// Calls a closure with each yield, before it reaches the fetch outside.
private struct YieldLayer<Query: QueryRequest>: QueryModifier {
  let onYield: @Sendable () -> Void

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    let inner = QueryContinuation<Query.Value> { result, context in
      self.onYield()
      continuation.yield(with: result, using: context)
    }
    return try await query.fetch(in: context, with: inner)
  }
}

/// Runs jobs on threads of the system, and those that come at a moment of the test's choice on the
/// thread of that moment.
private final class HoldingExecutor: TaskExecutor {
  private let held = Locked([UnownedJob]?.none)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isHeld = self.held.withLock { held in
      held?.append(job)
      return held != nil
    }
    if isHeld { return }
    let executor = self.asUnownedTaskExecutor()
    Task.detached { job.runSynchronously(on: executor) }
  }

  /// Runs a closure, and then on this thread what goes on because of it.
  func runWhatComes(_ body: () -> Void) {
    self.held.withLock { $0 = [] }
    body()
    while let job = self.next() { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  private func next() -> UnownedJob? {
    self.held.withLock { held in
      guard held?.isEmpty == false else {
        held = nil
        return nil
      }
      return held?.removeFirst()
    }
  }
}
