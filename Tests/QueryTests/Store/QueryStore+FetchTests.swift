import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreFetchTests {
  static let success: [ObservedEvent] = [
    .stateChanged, .fetchingStarted, .returned("1"), .stateChanged, .fetchingEnded,
  ]

  // MARK: - Event order

  @Test func aFetchThatSucceedsHasFiveEvents() async throws {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let value = try await store.fetch(handler: collector.handler)
    #expect(value == 1)
    #expect(collector.events == Self.success)
    #expect(collector.states.map(\.isLoading) == [true, false])
    #expect(collector.states.map(\.currentValue) == [nil, 1])
  }

  @Test func aFetchThatFailsHasTheSameShape() async {
    let store = ScriptedQuery.store { _, _ in throw TestError("no") }
    let collector = EventCollector<IntState>()
    await #expect(throws: TestError("no")) { try await store.fetch(handler: collector.handler) }
    #expect(
      collector.events == [
        .stateChanged, .fetchingStarted, .returned("TestError(no)"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(collector.states.map(\.isLoading) == [true, false])
    #expect(store.error as? TestError == TestError("no"))
    #expect(store.errorUpdateCount == 1)
  }

  @Test func eachYieldIsAResultAndAStateThatIsStillLoading() async throws {
    let store = ScriptedQuery.store { _, continuation in
      continuation.yield(10)
      continuation.yield(error: TestError("y"))
      continuation.yield(with: .success(20))
      return 1
    }
    let collector = EventCollector<IntState>()
    try await store.fetch(handler: collector.handler)
    #expect(
      collector.events == [
        .stateChanged, .fetchingStarted,
        .yielded("10"), .stateChanged,
        .yielded("TestError(y)"), .stateChanged,
        .yielded("20"), .stateChanged,
        .returned("1"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(collector.states.map(\.isLoading) == [true, true, true, true, false])
    #expect(collector.states.map(\.currentValue) == [nil, 10, 10, 20, 1])
    #expect(collector.states.map(\.valueUpdateCount) == [0, 1, 1, 2, 3])
    #expect(collector.states.map(\.errorUpdateCount) == [0, 0, 1, 1, 1])
    #expect(collector.states.map { $0.error != nil } == [false, false, true, false, false])
  }

  @Test func whatAnEventsContextHasOfItIsNotInTheNextFetch() async throws {
    let requested = Recorder<QueryContext>()
    let store = ScriptedQuery.store { context, continuation in
      requested.append(context)
      continuation.yield(10)
      return 1
    }
    let plain = EventCollector<IntState>()
    try await store.fetch(handler: plain.handler)
    for entry in plain.entries.elements {
      let collector = EventCollector<IntState>()
      try await store.fetch(using: entry.context, handler: collector.handler)
      #expect(
        collector.entries.elements.map(\.context.queryResultUpdateReason)
          == plain.entries.elements.map(\.context.queryResultUpdateReason))
      let first = collector.entries.elements.first?.context
      #expect(first?.queryRunningTaskIdentifier == nil)
      #expect(first?.currentFetchingQueryStore == nil)
    }
    #expect(requested.elements.count == 1 + plain.events.count)
    #expect(requested.elements.allSatisfy { $0.queryResultUpdateReason == nil })
  }

  @Test(arguments: [true, false])
  func whatAnEventsContextHasOfItIsNotInAChangeByHand(isReset: Bool) async throws {
    let store = ScriptedQuery.store { _, continuation in
      continuation.yield(10)
      return 1
    }
    let plain = EventCollector<IntState>()
    try await store.fetch(handler: plain.handler)
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    for entry in plain.entries.elements {
      let count = collector.events.count
      if isReset {
        store.reset(using: entry.context)
      } else {
        store.setResult(to: .success(2), using: entry.context)
      }
      let event = try #require(collector.entries.elements.dropFirst(count).last)
      #expect(event.context.queryResultUpdateReason == nil)
      #expect(event.context.queryRunningTaskIdentifier == nil)
      #expect(event.context.currentFetchingQueryStore == nil)
    }
    subscription.cancel()
  }

  @Test func aStoreTakesNothingOfAnEventWithItsContext() async throws {
    let store = ScriptedQuery.store()
    let plain = EventCollector<IntState>()
    try await store.fetch(handler: plain.handler)
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    for entry in plain.entries.elements {
      store.context = entry.context
      store.reset()
      let event = try #require(collector.entries.elements.last)
      #expect(event.context.queryResultUpdateReason == nil)
      #expect(event.context.queryRunningTaskIdentifier == nil)
      #expect(event.context.currentFetchingQueryStore == nil)
    }
    subscription.cancel()
  }

  @Test func aSubscriberHasOneStateMoreAtTheStart() async throws {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    try await store.fetch()
    #expect(collector.events == [.stateChanged] + Self.success)
    withExtendedLifetime(subscription) {}
  }

  @Test func yieldReturnsWithTheStateChangedAndTheEventsDelivered() async throws {
    let collector = EventCollector<IntState>()
    let seen = Recorder<[ObservedEvent]>()
    let store = Box<IntStore?>(nil)
    store.value = ScriptedQuery.store { _, continuation in
      continuation.yield(5)
      seen.append(collector.events)
      #expect(store.value?.currentValue == 5)
      return 1
    }
    try await store.value?.fetch(handler: collector.handler)
    #expect(
      seen.elements == [[.stateChanged, .fetchingStarted, .yielded("5"), .stateChanged]]
    )
    store.value = nil
  }

  // MARK: - Contexts

  @Test func theContextsOfTheEventsTellOfTheTaskAsFarAsThereIsOne() async throws {
    let store = ScriptedQuery.store(in: QueryContext(mark: "store")) { _, continuation in
      continuation.yield(5)
      return 1
    }
    let collector = EventCollector<IntState>()
    try await store.fetch(handler: collector.handler)
    let contexts = collector.entries.elements.map(\.context)
    #expect(contexts.map(\.mark) == Array(repeating: "store", count: 7))
    let identifiers = contexts.map(\.queryRunningTaskIdentifier)
    let identifier = try #require(identifiers[1])
    #expect(identifiers == [nil] + Array(repeating: identifier, count: 6))
    let stores = contexts.map { $0.currentFetchingQueryStore?.base as? IntStore }
    #expect(stores[0] == nil)
    #expect(stores[1...].allSatisfy { $0 === store })
    #expect(
      contexts.map(\.queryResultUpdateReason) == [
        nil, nil, .yieldedResult, .yieldedResult, .returnedFinalResult, nil, nil,
      ]
    )
  }

  @Test func theFirstStateHasTheContextThatTheCallerPassed() async throws {
    let store = ScriptedQuery.store(in: QueryContext(mark: "store")) { context, _ in
      #expect(context.mark == "caller")
      #expect(context.queryRunningTaskIdentifier != nil)
      #expect(context.queryResultUpdateReason == nil)
      return 1
    }
    let collector = EventCollector<IntState>()
    try await store.fetch(using: QueryContext(mark: "caller"), handler: collector.handler)
    #expect(collector.entries.elements.allSatisfy { $0.context.mark == "caller" })
    let first = try #require(collector.entries.elements.first?.context)
    #expect(first.queryRunningTaskIdentifier == nil)
    #expect(first.currentFetchingQueryStore == nil)
    #expect(first.queryTaskConfiguration.name == nil)
    #expect(store.context.mark == "store")
    #expect(store.context.currentFetchingQueryStore == nil)
  }

  @Test func aContextGivenToAYieldIsThatOfItsEventsWithTheTaskPutIn() async throws {
    let clock = TestClock()
    let other = TestClock(clock.now() + 1_000)
    let store = ScriptedQuery.store { _, continuation in
      var context = QueryContext(mark: "yield")
      context.queryClock = other
      continuation.yield(5, using: context)
      return 1
    }
    store.context.queryClock = clock
    let collector = EventCollector<IntState>()
    try await store.fetch(handler: collector.handler)
    let entries = collector.entries.elements
    #expect(
      entries.map(\.context.mark) == ["none", "none", "yield", "yield", "none", "none", "none"]
    )
    let task = entries[1].context.queryRunningTaskIdentifier
    #expect(entries[2...3].map(\.context.queryRunningTaskIdentifier) == [task, task])
    let stores = entries[2...3].map { $0.context.currentFetchingQueryStore?.base as? IntStore }
    #expect(stores.allSatisfy { $0 === store })
    #expect(entries[2].context.queryResultUpdateReason == .yieldedResult)
    #expect(entries[3].context.queryResultUpdateReason == .yieldedResult)
    // The date is by the clock of the task either way.
    #expect(entries[3].state?.valueLastUpdatedAt == clock.now())
  }

  @Test func datesAreByTheClockOfTheContextAtScheduling() async throws {
    let clock = TestClock()
    let store = ScriptedQuery.store()
    store.context.queryClock = clock
    let task = store.fetchTask()
    store.context.queryClock = TestClock(clock.now() + 500)
    clock.advance(by: 7)
    try await task.runIfNeeded()
    #expect(store.valueLastUpdatedAt == clock.now())
  }

  // MARK: - Handlers of fetches

  @Test func aHandlerOfAFetchIsNoSubscriberAndStartsNothing() async throws {
    let gate = Gate()
    let counter = Counter()
    var context = QueryContext()
    context.enableAutomaticFetchingCondition = .always(true)
    let store = ScriptedQuery.store(in: context) { _, _ in
      counter.increment()
      try await gate.pass()
      return 1
    }
    let collector = EventCollector<IntState>()
    let fetch = Task { try await store.fetch(handler: collector.handler) }
    await gate.arrival()
    #expect(store.subscriberCount == 0)
    #expect(store.activeTasks.count == 1)
    gate.open()
    _ = try await fetch.value
    #expect(counter.value == 1)
    #expect(collector.events == Self.success)
  }

  @Test func aHandlerOfAFetchHearsNothingAfterwards() async throws {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    try await store.fetch(handler: collector.handler)
    store.currentValue = 5
    try await store.fetch()
    #expect(collector.events == Self.success)
  }

  @Test func aHandlerOfAFetchSeesTheEventsOfOtherFetches() async throws {
    let gate = Gate()
    let store = ScriptedQuery.store { context, _ in
      if context.mark == "slow" { try await gate.pass() }
      return context.mark == "slow" ? 2 : 1
    }
    let collector = EventCollector<IntState>()
    let slow = Task {
      try await store.fetch(using: QueryContext(mark: "slow"), handler: collector.handler)
    }
    await gate.arrival()
    try await store.fetch()
    gate.open()
    _ = try await slow.value
    #expect(
      collector.events == [
        .stateChanged, .fetchingStarted,
        .stateChanged, .fetchingStarted, .returned("1"), .stateChanged, .fetchingEnded,
        .returned("2"), .stateChanged, .fetchingEnded,
      ]
    )
    #expect(collector.states.map(\.isLoading) == [true, true, true, false])
  }

  @Test func fetchesRunAtTheSameTimeAndTheLastToEndWins() async throws {
    let gates = [Gate(), Gate()]
    let store = ScriptedQuery.store { context, _ in
      let index = context.mark == "0" ? 0 : 1
      try await gates[index].pass()
      return index
    }
    let fetches = (0...1).map { index in
      Task { try await store.fetch(using: QueryContext(mark: "\(index)")) }
    }
    await gates[0].arrival()
    await gates[1].arrival()
    #expect(store.activeTasks.count == 2)
    gates[1].open()
    _ = try await fetches[1].value
    #expect(store.isLoading)
    #expect(store.currentValue == 1)
    gates[0].open()
    _ = try await fetches[0].value
    #expect(!store.isLoading)
    #expect(store.currentValue == 0)
    #expect(store.valueUpdateCount == 2)
  }

  @Test func aValueSetWhileFetchingIsTakenAtOnceAndOverwrittenByTheResult() async throws {
    let gate = Gate()
    let store = ScriptedQuery.store { _, _ in
      try await gate.pass()
      return 1
    }
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    store.currentValue = 9
    #expect(store.currentValue == 9)
    #expect(store.isLoading)
    gate.open()
    _ = try await fetch.value
    #expect(store.currentValue == 1)
    #expect(store.valueUpdateCount == 2)
  }

  // MARK: - Tasks

  @Test func aTaskMakesTheStoreLoadingBeforeItIsStarted() async throws {
    let store = ScriptedQuery.store()
    let collector = EventCollector<IntState>()
    let subscription = store.subscribe(with: collector.handler)
    let task = store.fetchTask()
    #expect(collector.events == [.stateChanged, .stateChanged])
    #expect(store.isLoading)
    #expect(store.status.isLoading)
    #expect(store.activeTasks.map(\.id) == [task.id])
    #expect(!task.hasStarted)
    #expect(try await task.runIfNeeded() == 1)
    #expect(collector.events == [.stateChanged] + Self.success)
    #expect(!store.isLoading)
    withExtendedLifetime(subscription) {}
  }

  @Test func aTaskOfAStoreIsNamedForIt() async throws {
    let store = ScriptedQuery.store { _, _ in
      #expect(Task.name == "QueryStore<QueryState<Int?, Int>> Task")
      return 1
    }
    let task = store.fetchTask()
    #expect(task.configuration.name == "QueryStore<QueryState<Int?, Int>> Task")
    #expect(
      task.info.description
        == "[QueryStore<QueryState<Int?, Int>> Task](ID: \(task.id.debugDescription))"
    )
    try await task.runIfNeeded()
  }

  @Test func aNameThatTheContextHasWins() async throws {
    let store = ScriptedQuery.store { _, _ in
      #expect(Task.name == "mine")
      return 1
    }
    store.context.queryTaskConfiguration.name = "mine"
    #expect(store.fetchTask().configuration.name == "mine")
    try await store.fetch()
  }
}
