import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct SuspendModifierTests {
  private let fetches = Counter()

  private func store(
    on condition: some FetchCondition
  ) -> QueryStore<QueryState<Int?, Int>> {
    let query = ProbeQuery(onFetch: { [fetches] _, _ in fetches.increment() })
    return QueryStore.detached(query: query.suspend(on: condition), initialValue: nil)
  }

  @Test func aSatisfiedConditionIsNotSubscribedTo() async throws {
    let condition = ScriptedCondition(answers: [true])
    #expect(try await self.store(on: condition).fetch() == 1)
    #expect(condition.log.elements == ["asked"])
  }

  @Test func aFetchWaitsForTheFirstTrueAndUnsubscribes() async throws {
    let condition = ScriptedCondition(answers: [false])
    let store = self.store(on: condition)
    let collector = EventCollector<QueryState<Int?, Int>>()
    let fetch = Task { try await store.fetch(handler: collector.handler) }
    await condition.log.wait { $0.last == "asked" && $0.count == 3 }
    #expect(condition.log.elements == ["asked", "subscribed", "asked"])
    #expect(collector.events == [.stateChanged, .fetchingStarted])
    #expect(store.isLoading)
    condition.emit(false)
    #expect(self.fetches.value == 0)
    condition.emit(true)
    #expect(try await fetch.value == 1)
    #expect(condition.log.elements.last == "cancelled")
    #expect(condition.observerCount == 0)
  }

  @Test func furtherTruesAreHarmless() async throws {
    let condition = ScriptedCondition(answers: [false])
    let store = self.store(on: condition)
    let fetch = Task { try await store.fetch() }
    await condition.log.wait(forCount: 3)
    let observers = condition.observers
    for _ in 0..<3 { for observer in observers { observer(true) } }
    #expect(try await fetch.value == 1)
    // An emission that was under way when the subscription was cancelled.
    for observer in observers { observer(true) }
    #expect(self.fetches.value == 1)
  }

  @Test func aTransitionBetweenTheQuestionAndTheSubscriptionIsNotMissed() async throws {
    let condition = ScriptedCondition(answers: [false, true])
    #expect(try await self.store(on: condition).fetch() == 1)
    #expect(condition.log.elements == ["asked", "subscribed", "asked", "cancelled"])
  }

  @Test func aTrueThatIsEmittedWhileSubscribingCounts() async throws {
    let condition = ScriptedCondition(answers: [false], emissions: [false, true, true])
    #expect(try await self.store(on: condition).fetch() == 1)
    #expect(condition.observerCount == 0)
  }

  @Test func cancellationWhileWaitingEndsTheFetchAndTheSubscription() async {
    let condition = ScriptedCondition(answers: [false])
    let store = self.store(on: condition)
    let fetch = Task { try await store.fetch() }
    await condition.log.wait(forCount: 3)
    fetch.cancel()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(self.fetches.value == 0)
    #expect(store.status.isCancelled)
    #expect(condition.observerCount == 0)
  }

  @Test func cancellationBeforeWaitingIsNotLost() async {
    let condition = ScriptedCondition(answers: [false])
    let store = self.store(on: condition)
    let fetch = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.fetch()
    }
    await #expect(throws: CancellationError.self) { try await fetch.value }
    #expect(self.fetches.value == 0)
    #expect(condition.observerCount == 0)
  }

  @Test func cancellationWhileSubscribingIsNotLost() async {
    let condition = ScriptedCondition(answers: [false]) {
      withUnsafeCurrentTask { $0?.cancel() }
    }
    let store = self.store(on: condition)
    await #expect(throws: CancellationError.self) { try await store.fetch() }
    #expect(self.fetches.value == 0)
    #expect(condition.observerCount == 0)
  }

  @Test func aTrueAndACancellationAtOnceResumeOnce() async {
    for _ in 0..<50 {
      let condition = ScriptedCondition(answers: [false])
      let store = self.store(on: condition)
      let fetch = Task { try await store.fetch() }
      await condition.log.wait(forCount: 3)
      let observers = condition.observers
      async let cancellation: Void = fetch.cancel()
      async let emission: Void = { for observer in observers { observer(true) } }()
      _ = await (cancellation, emission)
      _ = await fetch.result
      #expect(!store.isLoading)
      #expect(condition.observerCount == 0)
    }
  }

  @Test func aCombinedConditionResumesThoughASideChangedEarly() async throws {
    let early = ScriptedCondition(answers: [false, false, true])
    let late = ManualCondition(false)
    let store = self.store(on: early && late)
    let fetch = Task { try await store.fetch() }
    await early.log.wait { $0.count { $0 == "asked" } >= 4 }
    late.send(true)
    #expect(try await fetch.value == 1)
  }

  @Test func eachFetchWaitsForItself() async throws {
    let condition = ScriptedCondition(answers: [false])
    let store = self.store(on: condition)
    let first = Task { try await store.fetch() }
    let second = Task { try await store.fetch() }
    await condition.log.wait { $0.count { $0 == "asked" } == 4 }
    #expect(store.activeTasks.count == 2)
    condition.emit(true)
    #expect(Set([try await first.value, try await second.value]) == [1, 2])
  }

  // MARK: - Sharing

  /// A store whose fetches share their work behind the wait for a condition, and stop at a gate.
  private func sharingStore(
    on condition: some FetchCondition, _ gate: Gate
  ) -> QueryStore<QueryState<Int?, Int>> {
    let query = ProbeQuery(onFetch: { [fetches] _, _ in
      let number = fetches.increment()
      try await gate.pass()
      return number
    })
    return QueryStore.detached(
      query: query.deduplicated().suspend(on: condition), initialValue: nil)
  }

  @Test func whatHasEndedWhileAFetchWasSuspendedIsNotSharedWithIt() async throws {
    let condition = ScriptedCondition(answers: [true, false])
    let gate = Gate()
    let store = self.sharingStore(on: condition, gate)
    let first = Task { try await store.fetch() }
    await gate.arrival()
    let suspended = Task { try await store.fetch() }
    await condition.log.wait(forCount: 4)
    gate.open()
    #expect(try await first.value == 1)
    store.currentValue = 5
    condition.emit(true)
    #expect(try await suspended.value == 2)
    #expect(store.currentValue == 2 && self.fetches.value == 2)
  }

  @Test func aFetchThatWasSuspendedSharesWhatRunsWhenItGoesOn() async throws {
    // The third fetch finds the condition satisfied, of which the second has still to be told.
    let condition = ScriptedCondition(answers: [true, false, false, true])
    let gate = Gate()
    let store = self.sharingStore(on: condition, gate)
    let first = Task { try await store.fetch() }
    await gate.arrival()
    let suspended = Task { try await store.fetch() }
    await condition.log.wait(forCount: 4)
    gate.letOneThrough()
    #expect(try await first.value == 1)
    let third = Task { try await store.fetch() }
    await gate.arrival(2)
    condition.emit(true)
    await condition.log.wait { $0.last == "cancelled" }
    gate.open()
    #expect(try await (suspended.value, third.value) == (2, 2))
    #expect(self.fetches.value == 2)
  }

  /// It is as new as what runs: the store does not have it yet.
  @Test func aFetchThatWasSuspendedSharesAResultThatIsOnItsWayToTheStore() async throws {
    let condition = ScriptedCondition(answers: [true, false])
    let (gate, landing) = (Gate(), Gate())
    let query = SharedQuery(gate)
    let store = query.deduplicated().modifier(LandingLayer(landing: landing)).suspend(on: condition)
      .sharedStore()
    let first = Task { try await store.fetch() }
    await gate.arrival()
    let suspended = Task { try await store.fetch() }
    await condition.log.wait(forCount: 4)
    gate.open()
    await landing.arrival()
    condition.emit(true)
    #expect(try await suspended.value == 1)
    landing.open()
    #expect(try await first.value == 1)
    #expect(query.fetches.value == 1 && store.currentValue == 1)
  }
}

/// Holds the first fetch up on its way back.
private struct LandingLayer<Query: QueryRequest>: QueryModifier {
  let landing: Gate
  let fetches = Counter()

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    let isFirst = self.fetches.increment() == 1
    let value = try await query.fetch(in: context, with: continuation)
    if isFirst { try await self.landing.pass() }
    return value
  }
}

/// A condition whose answers and emissions are scripted.
private final class ScriptedCondition: FetchCondition {
  /// Guarded by the mutex.
  private struct State {
    var answers: [Bool]
    var lastId = 0
    var observers = [Int: @Sendable (Bool) -> Void]()
  }

  let log = Recorder<String>()
  private let state: Locked<State>
  private let emissions: [Bool]
  private let onSubscribe: @Sendable () -> Void

  /// - Parameters:
  ///   - answers: What it answers; the last one again and again.
  ///   - emissions: What it emits while it is subscribed to.
  init(
    answers: [Bool],
    emissions: [Bool] = [],
    onSubscribe: @escaping @Sendable () -> Void = {}
  ) {
    self.state = Locked(State(answers: answers))
    self.emissions = emissions
    self.onSubscribe = onSubscribe
  }

  var observers: [@Sendable (Bool) -> Void] { self.state.withLock { Array($0.observers.values) } }

  var observerCount: Int { self.observers.count }

  func emit(_ value: Bool) { for observer in self.observers { observer(value) } }

  func isSatisfied(in context: QueryContext) -> Bool {
    let answer = self.state.withLock { state in
      state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
    }
    self.log.append("asked")
    return answer
  }

  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    let id = self.state.withLock { state in
      state.lastId += 1
      state.observers[state.lastId] = observer
      return state.lastId
    }
    self.log.append("subscribed")
    self.onSubscribe()
    for emission in self.emissions { observer(emission) }
    return QuerySubscription {
      _ = self.state.withLock { $0.observers.removeValue(forKey: id) }
      self.log.append("cancelled")
    }
  }
}
