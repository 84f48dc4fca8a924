import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct StoreFetchTests {
  // MARK: - Cancellation

  @Test func cancellingTheCallerCancelsTheRequestAndTheStateRecordsWhatItThrows() async {
    let gate = Gate()
    let store = ScriptedQuery.store { _, _ in
      do { try await gate.pass() } catch { throw TestError("left") }
      return 1
    }
    let collector = EventCollector<IntState>()
    let fetch = Task { try await store.fetch(handler: collector.handler) }
    await gate.arrival()
    fetch.cancel()
    await #expect(throws: TestError("left")) { try await fetch.value }
    #expect(
      collector.events == [
        .stateChanged, .fetchingStarted, .returned("TestError(left)"), .stateChanged,
        .fetchingEnded,
      ]
    )
    #expect(store.error as? TestError == TestError("left"))
  }

  @Test func cancellationIsAnOrdinaryFailure() async {
    let gate = Gate()
    let store = ScriptedQuery.store { _, _ in
      try await gate.pass()
      return 1
    }
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    fetch.cancel()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(store.errorUpdateCount == 1)
    #expect(store.error is CancellationError)
    #expect(store.status.isCancelled)
    #expect(!store.isLoading)
  }

  @Test func aRequestThatIgnoresCancellationSucceedsInTheStateWhileFetchThrows() async {
    let gate = Gate()
    let store = ScriptedQuery.store { _, _ in
      await gate.passIgnoringCancellation()
      return 1
    }
    let collector = EventCollector<IntState>()
    let fetch = Task { try await store.fetch(handler: collector.handler) }
    await gate.arrival()
    fetch.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(collector.events == QueryStoreFetchTests.success)
    #expect(store.currentValue == 1)
    #expect(store.error == nil)
  }

  @Test func aFetchFromACancelledTaskStillRunsTheRequest() async {
    let isCancelled = Recorder<Bool>()
    let store = ScriptedQuery.store { _, _ in
      isCancelled.append(Task.isCancelled)
      return 1
    }
    let collector = EventCollector<IntState>()
    let fetch = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await store.fetch(handler: collector.handler)
    }
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(isCancelled.elements == [true])
    #expect(collector.events == QueryStoreFetchTests.success)
  }

  @Test func aTaskThatIsCancelledBeforeItRanFailsInTheStateWithOneEvent() async {
    let counter = Counter()
    let store = ScriptedQuery.store { _, _ in counter.increment() }
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    let task = store.fetchTask()
    task.cancel()
    #expect(!store.isLoading)
    #expect(store.status.isCancelled)
    #expect(store.errorUpdateCount == 1)
    #expect(collector.events == [.stateChanged, .stateChanged, .stateChanged])
    #expect(collector.states.map(\.isLoading) == [false, true, false])
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    #expect(counter.value == 0)
    #expect(collector.events.count == 3)
    withExtendedLifetime(subscription) {}
  }

  // MARK: - Dropped tasks

  @Test func aTaskThatIsDroppedBeforeItRanOnlyFinishes() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    store.fetchTask()
    #expect(!store.isLoading)
    #expect(store.status.isIdle)
    #expect(store.errorUpdateCount == 0)
    #expect(collector.states.map(\.isLoading) == [false, true, false])
    #expect(collector.events == [.stateChanged, .stateChanged, .stateChanged])
    withExtendedLifetime(subscription) {}
  }

  @Test func copiesAndMapsHoldATask() async throws {
    let store = ScriptedQuery.store()
    var task: QueryTask<Int>? = store.fetchTask()
    var copy = task
    var mapped = task?.map { "\($0)" }
    var twice = mapped?.map { $0 + "!" }
    task = nil
    #expect(store.isLoading)
    mapped = nil
    #expect(store.isLoading)
    copy = nil
    #expect(copy == nil && store.isLoading)
    #expect(twice?.hasStarted == false)
    twice = nil
    #expect(!store.isLoading)
  }

  @Test func copiesOfTheStateDoNotHoldATask() throws {
    let store = ScriptedQuery.store()
    var task: QueryTask<Int>? = store.fetchTask()
    let active = store.activeTasks
    let state = store.state
    #expect(task != nil)
    task = nil
    #expect(!store.isLoading)
    #expect(active.first?.isCancelled == true)
    #expect(state.isLoading)
  }

  @Test func aTaskThatIsScheduledAfterItHoldsATask() async throws {
    let store = ScriptedQuery.store()
    let other = ScriptedQuery.store { _, _ in 2 }
    var task: QueryTask<Int>? = store.fetchTask()
    let dependant = other.fetchTask()
    if let task { dependant.schedule(after: task) }
    task = nil
    #expect(store.isLoading)
    try await dependant.runIfNeeded()
    #expect(store.currentValue == 1)
    #expect(!store.isLoading)
  }

  @Test func aTaskIsDroppedWithTheDroppedTaskOfAStoreThatIsScheduledAfterIt() {
    let store = ScriptedQuery.store()
    let other = ScriptedQuery.store { _, _ in 2 }
    var task: QueryTask<Int>? = store.fetchTask()
    var dependant: QueryTask<Int>? = other.fetchTask()
    if let task { dependant?.schedule(after: task) }
    task = nil
    #expect(store.isLoading)
    dependant = nil
    #expect(!other.isLoading)
    #expect(!store.isLoading)
    #expect(store.status.isIdle)
  }

  @Test func aTaskIsDroppedWithTheDroppedTaskOfNoStoreThatIsScheduledAfterIt() {
    let store = ScriptedQuery.store()
    var task: QueryTask<Int>? = store.fetchTask()
    var dependant: QueryTask<Int>? = QueryTask(context: QueryContext()) { _, _ in 2 }
    if let task { dependant?.schedule(after: task) }
    task = nil
    #expect(store.isLoading)
    #expect(dependant != nil)
    dependant = nil
    #expect(!store.isLoading)
  }

  @Test func aTaskIsDroppedWithTheCancelledTaskThatIsScheduledAfterIt() {
    let store = ScriptedQuery.store()
    var task: QueryTask<Int>? = store.fetchTask()
    let dependant = QueryTask(context: QueryContext()) { _, _ in 2 }
    if let task { dependant.schedule(after: task) }
    task = nil
    dependant.cancel()
    #expect(!store.isLoading)
    #expect(store.status.isIdle)
  }

  @Test func aTaskThatIsDroppedInExclusiveAccessEndsAfterIt() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    store.withExclusiveAccess { store in
      store.fetchTask()
      #expect(store.isLoading)
      #expect(collector.events.count == 1)
    }
    #expect(!store.isLoading)
    #expect(collector.states.map(\.isLoading) == [false, true, false])
    withExtendedLifetime(subscription) {}
  }

  @Test func aTaskThatIsDroppedWhileItRunsGoesOn() async throws {
    let gate = Gate()
    let store = ScriptedQuery.store { _, _ in
      try await gate.pass()
      return 1
    }
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    var task: QueryTask<Int>? = store.fetchTask()
    Task { [task] in try await task?.runIfNeeded() }
    await gate.arrival()
    #expect(task?.isRunning == true)
    task = nil
    gate.open()
    await collector.wait(for: .fetchingEnded)
    #expect(store.currentValue == 1)
    withExtendedLifetime(subscription) {}
  }

  // MARK: - Yields after the end

  @Test func aYieldAfterTheEndIsAWarningAndChangesNothing() async throws {
    let continuation = Box<QueryContinuation<Int>?>(nil)
    let store = ScriptedQuery.store {
      continuation.value = $1
      return 1
    }
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    try await store.fetch()
    let events = collector.events
    await withExpectedWarnings([
      .queryYieldedAfterReturning(Result<Int, any Error>.success(2)),
      .queryYieldedAfterReturning(Result<Int, any Error>.failure(TestError())),
    ]) {
      continuation.value?.yield(2)
      continuation.value?.yield(error: TestError())
    }
    #expect(collector.events == events)
    #expect(store.currentValue == 1)
    #expect(store.valueUpdateCount == 1)
    withExtendedLifetime(subscription) {}
  }

  @Test func aYieldFromAHandlerOfTheLastEventIsAWarning() async throws {
    let continuation = Box<QueryContinuation<Int>?>(nil)
    let store = ScriptedQuery.store {
      continuation.value = $1
      return 1
    }
    await withExpectedWarnings([
      .queryYieldedAfterReturning(Result<Int, any Error>.success(2))
    ]) {
      _ = try? await store.fetch(
        handler: QueryEventHandler(onFetchingEnded: { _ in continuation.value?.yield(2) })
      )
    }
    #expect(store.currentValue == 1)
  }

  @Test func aYieldAfterTheStoreIsGoneIsAWarning() async throws {
    let continuation = Box<QueryContinuation<Int>?>(nil)
    var store: IntStore? = ScriptedQuery.store {
      continuation.value = $1
      return 1
    }
    weak let released = store
    try await store?.fetch()
    store = nil
    #expect(released == nil)
    await withExpectedWarnings([
      .queryYieldedAfterReturning(Result<Int, any Error>.success(2))
    ]) { continuation.value?.yield(2) }
  }
}
