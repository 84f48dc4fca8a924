import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreTests {
  // MARK: - State

  @Test func dynamicMembersReadTheState() {
    let store = ScriptedQuery.store()
    #expect(store.currentValue == nil)
    #expect(store.initialValue == nil)
    #expect(store.valueUpdateCount == 0)
    #expect(store.valueLastUpdatedAt == nil)
    #expect(store.error == nil)
    #expect(store.status.isIdle)
    #expect(store.activeTasks.isEmpty)
    #expect(!store.isLoading)
    #expect(store.state.currentValue == nil)
    #expect(store.path == ["scripted"])
  }

  @Test func settingTheValueIsASuccessAndOneEvent() {
    let clock = TestClock()
    var context = QueryContext(mark: "store")
    context.queryClock = clock
    let store = ScriptedQuery.store(in: context) { _, _ in 1 }
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    store.currentValue = 4
    #expect(collector.events == [.stateChanged, .stateChanged])
    #expect(collector.entries.elements.last?.context.mark == "store")
    #expect(collector.entries.elements.last?.context.queryResultUpdateReason == nil)
    #expect(store.currentValue == 4)
    #expect(store.valueUpdateCount == 1)
    #expect(store.valueLastUpdatedAt == clock.now())
    withExtendedLifetime(subscription) {}
  }

  @Test func settingAnEqualValueStillCountsAndEmits() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    store.currentValue = 4
    store.currentValue = 4
    #expect(collector.states.map(\.valueUpdateCount) == [0, 1, 2])
    withExtendedLifetime(subscription) {}
  }

  @Test func aResultSetByHandTakesItsClockAndEventFromTheContextThatIsPassed() {
    let clock = TestClock()
    var context = QueryContext(mark: "passed")
    context.queryClock = clock
    let store = ScriptedQuery.store(in: QueryContext(mark: "store")) { _, _ in 1 }
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    store.setResult(to: .failure(TestError()), using: context)
    #expect(store.errorLastUpdatedAt == clock.now())
    #expect(store.errorUpdateCount == 1)
    store.setResult(to: .success(2), using: context)
    #expect(store.valueLastUpdatedAt == clock.now())
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 1)
    #expect(collector.entries.elements.map(\.context.mark) == ["store", "passed", "passed"])
    #expect(store.context.mark == "store")
    withExtendedLifetime(subscription) {}
  }

  @Test func aContextThatIsSetAffectsLaterFetchesOnly() async throws {
    let gate = Gate()
    let marks = Recorder<String>()
    let store = ScriptedQuery.store(in: QueryContext(mark: "old")) { context, _ in
      try await gate.pass()
      marks.append(context.mark)
      return 1
    }
    let task = store.fetchTask()
    store.context.mark = "new"
    gate.open()
    try await task.runIfNeeded()
    try await store.fetch()
    #expect(marks.elements == ["old", "new"])
  }

  // MARK: - Conditions

  @Test func aStoreIsStaleWhereNothingSaysOtherwiseAndFetchesNothingByItself() {
    let store = ScriptedQuery.store()
    #expect(store.isStale)
    #expect(!store.isAutomaticFetchingEnabled)
    let condition = ManualCondition(true)
    store.context.enableAutomaticFetchingCondition = condition
    #expect(store.isAutomaticFetchingEnabled)
    condition.send(false)
    #expect(!store.isAutomaticFetchingEnabled)
  }

  // MARK: - Reset

  @Test func resetGoesBackToAFreshStateWithOneEvent() {
    let store = IntStore.detached(query: ScriptedQuery { _, _ in 1 }, initialValue: 7)
    store.currentValue = 1
    store.setResult(to: .failure(TestError()))
    store.context.mark = "kept"
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    store.reset()
    store.reset(using: QueryContext(mark: "passed"))
    #expect(collector.events == [.stateChanged, .stateChanged, .stateChanged])
    #expect(collector.entries.elements.map(\.context.mark) == ["kept", "kept", "passed"])
    #expect(store.currentValue == 7)
    #expect(store.valueUpdateCount == 0)
    #expect(store.errorUpdateCount == 0)
    #expect(store.valueLastUpdatedAt == nil)
    #expect(store.errorLastUpdatedAt == nil)
    #expect(store.error == nil)
    #expect(store.context.mark == "kept")
    #expect(store.subscriberCount == 1)
    store.currentValue = 8
    #expect(collector.states.last?.currentValue == 8)
    withExtendedLifetime(subscription) {}
  }

  @Test func nothingThatATaskFromBeforeAResetProducesArrives() async throws {
    let gate = Gate()
    let store = ScriptedQuery.store { _, continuation in
      await gate.passIgnoringCancellation()
      continuation.yield(5)
      return 1
    }
    let collector = EventCollector<IntState>()
    let fetch = Task { try await store.fetch(handler: collector.handler) }
    await gate.arrival()
    store.reset()
    #expect(!store.isLoading)
    gate.open()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(
      collector.events == [.stateChanged, .fetchingStarted, .stateChanged, .fetchingEnded]
    )
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 0)
    #expect(store.errorUpdateCount == 0)
  }

  @Test func anUnrunTaskFromBeforeAResetThrowsAndHasNoEvents() async {
    let counter = Counter()
    let store = ScriptedQuery.store { _, _ in counter.increment() }
    let task = store.fetchTask()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    store.reset()
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    #expect(counter.value == 0)
    #expect(task.isCancelled)
    #expect(collector.events == [.stateChanged, .stateChanged])
    #expect(store.errorUpdateCount == 0)
    withExtendedLifetime(subscription) {}
  }

  @Test func resetCancelsRunningTasksAfterItsEvent() async throws {
    let gate = Gate()
    let log = Recorder<String>()
    let store = ScriptedQuery.store { _, _ in
      try await withTaskCancellationHandler {
        try await gate.pass()
      } onCancel: {
        log.append("cancelled")
      }
      return 1
    }
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in log.append("\(state.isLoading)") })
    )
    store.reset()
    #expect(log.elements == ["true", "false", "cancelled"])
    await #expect(throws: CancellationError.self) { try await fetch.value }
    withExtendedLifetime(subscription) {}
  }

  @Test func aFetchAfterAResetIsNotTouchedByOneFromBefore() async throws {
    let gates = [Gate(), Gate()]
    let store = ScriptedQuery.store { context, _ in
      let index = context.mark == "0" ? 0 : 1
      await gates[index].passIgnoringCancellation()
      return index
    }
    let old = Task { try await store.fetch(using: QueryContext(mark: "0")) }
    await gates[0].arrival()
    store.reset()
    let new = Task { try await store.fetch(using: QueryContext(mark: "1")) }
    await gates[1].arrival()
    gates[0].open()
    _ = await old.result
    #expect(store.isLoading)
    #expect(store.currentValue == nil)
    gates[1].open()
    #expect(try await new.value == 1)
    #expect(store.currentValue == 1)
    #expect(store.valueUpdateCount == 1)
  }

  // MARK: - Exclusive access

  @Test func exclusiveAccessDeliversItsEventsAtTheEndOfTheOutermost() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    let value = store.withExclusiveAccess { store in
      store.currentValue = 1
      store.withExclusiveAccess { $0.currentValue = 2 }
      store.setResult(to: .failure(TestError()))
      #expect(collector.events.count == 1)
      #expect(store.currentValue == 2)
      return store.valueUpdateCount
    }
    #expect(value == 2)
    #expect(collector.states.map(\.valueUpdateCount) == [0, 1, 2, 2])
    #expect(collector.states.map(\.errorUpdateCount) == [0, 0, 0, 1])
    withExtendedLifetime(subscription) {}
  }

  @Test func exclusiveAccessDeliversAllItsEventsHoweverManyThereAre() {
    let store = ScriptedQuery.store()
    let values = Recorder<Int?>()
    let subscription = store.withExclusiveAccess { store in
      let subscription = store.subscribe(
        with: QueryEventHandler(onStateChanged: { state, _ in values.append(state.currentValue) })
      )
      for value in 1...5_000 { store.currentValue = value }
      return subscription
    }
    let isComplete = values.elements == [nil] + Array(1...5_000)
    #expect(isComplete)
    withExtendedLifetime(subscription) {}
  }

  @Test func exclusiveAccessDeliversItsEventsWhereItThrows() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    #expect(throws: TestError()) {
      try store.withExclusiveAccess { store in
        store.currentValue = 1
        throw TestError()
      }
    }
    #expect(collector.states.map(\.currentValue) == [nil, 1])
    withExtendedLifetime(subscription) {}
  }

  @Test func subscribingInExclusiveAccessCallsTheHandlerWhenTheAccessEnds() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.withExclusiveAccess { store in
      store.currentValue = 1
      let subscription = store.subscribe(with: collector.handler)
      store.currentValue = 2
      #expect(collector.events == [])
      #expect(store.subscriberCount == 1)
      return subscription
    }
    #expect(collector.states.map(\.currentValue) == [1, 2])
    withExtendedLifetime(subscription) {}
  }

  @Test func aSubscriptionThatEndsInTheSameExclusiveAccessHearsNothing() {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    store.withExclusiveAccess { store in
      let subscription = store.subscribe(with: collector.handler)
      store.currentValue = 2
      subscription.cancel()
    }
    #expect(collector.events == [])
    #expect(store.subscriberCount == 0)
  }

  @Test func exclusiveAccessCoversTasksResetAndReading() async throws {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    let (kept, cancelled) = store.withExclusiveAccess { store in
      let cancelled = store.fetchTask()
      cancelled.cancel()
      // The task has its result at once; the store is told of it at the end of the access.
      #expect(cancelled.isFinished)
      #expect(store.isLoading)
      store.reset()
      let kept = store.fetchTask()
      #expect(store.isLoading)
      #expect(store.context.mark == "none")
      #expect(store.isStale)
      return (kept, cancelled)
    }
    #expect(cancelled.isCancelled)
    #expect(collector.states.map(\.isLoading) == [false, true, false, true])
    try await kept.runIfNeeded()
    #expect(store.currentValue == 1)
    #expect(store.errorUpdateCount == 0)
    withExtendedLifetime(subscription) {}
  }

  @Test func noOtherThreadChangesTheStoreDuringExclusiveAccess() async {
    let store = ScriptedQuery.store()
    store.currentValue = 0
    await runOnThreads(4) { _ in
      for _ in 0..<500 {
        store.withExclusiveAccess { store in
          let value = store.currentValue ?? 0
          store.withExclusiveAccess { $0.currentValue = value + 1 }
        }
      }
    }
    #expect(store.currentValue == 2_000)
    #expect(store.valueUpdateCount == 2_001)
  }
}
