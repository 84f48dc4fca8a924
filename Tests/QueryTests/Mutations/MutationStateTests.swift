import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct MutationStateTests {
  /// A store whose attempts wait at the gate of their arguments and throw if these begin with an
  /// exclamation mark, and whose clock stands still.
  private static func store(
    _ gates: [String: Gate] = [:],
    initialValue: String? = nil
  ) -> QueryStore<EchoState> {
    let mutation = EchoMutation { call in
      try await gates[call.arguments]?.pass()
      if call.arguments.hasPrefix("!") { throw TestError(call.arguments) }
      return call.echo
    }
    return .detached(
      query: mutation.clock(.timeFreeze(Date(timeIntervalSince1970: 1))),
      initialState: MutationState(initialValue: initialValue)
    )
  }

  private static func error(of store: QueryStore<EchoState>) -> String? {
    (store.state.error as? TestError)?.name
  }

  // MARK: - Fresh

  @Test func aFreshState() {
    let state = EchoState(initialValue: "x")
    #expect(state.currentValue == "x" && state.initialValue == "x")
    #expect(state.history.isEmpty)
    #expect(!state.isLoading && state.status.isIdle)
    #expect(state.valueUpdateCount == 0 && state.errorUpdateCount == 0)
    #expect(state.valueLastUpdatedAt == nil && state.errorLastUpdatedAt == nil)
    #expect(state.error == nil)
    #expect(EchoState().currentValue == nil)
  }

  // MARK: - The value

  @Test func theValueOfTheLatestAttempt() async throws {
    let store = Self.store(initialValue: "x")
    try await store.mutate(with: "a")
    #expect(store.currentValue == "A")
    #expect(store.state.status.resultValue == "A")
    try await store.mutate(with: "b")
    #expect(store.currentValue == "B")
    #expect(store.valueUpdateCount == 2)
    _ = try? await store.mutate(with: "!c")
    #expect(store.currentValue == nil)
    #expect(store.state.status.isFailure)
  }

  @Test func theValueIsNilWhileTheLatestAttemptLoads() async throws {
    let gates = ["b": Gate()]
    let store = Self.store(gates, initialValue: "x")
    try await store.mutate(with: "a")
    async let second = store.mutate(with: "b")
    await gates["b"]?.arrival()
    #expect(store.currentValue == nil)
    #expect(store.state.status.isLoading)
    #expect(store.valueUpdateCount == 1)
    gates["b"]?.open()
    _ = try await second
    #expect(store.currentValue == "B")
  }

  @Test func aManualValueCountsUntilALaterAttemptSucceeds() async throws {
    let gates = ["b": Gate()]
    let store = Self.store(gates)
    try await store.mutate(with: "a")
    store.currentValue = "manual"
    #expect(store.currentValue == "manual")
    async let second = store.mutate(with: "b")
    await gates["b"]?.arrival()
    #expect(store.currentValue == "manual")
    gates["b"]?.open()
    _ = try await second
    #expect(store.currentValue == "B")
    store.currentValue = nil
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 4)
  }

  @Test func aManualValueSetDuringAnAttemptIsOverriddenByItsResult() async throws {
    let gates = ["a": Gate()]
    let store = Self.store(gates)
    async let attempt = store.mutate(with: "a")
    await gates["a"]?.arrival()
    store.currentValue = "manual"
    #expect(store.currentValue == "manual")
    #expect(store.isLoading)
    gates["a"]?.open()
    _ = try await attempt
    #expect(store.currentValue == "A")
  }

  @Test func aManualValueSurvivesAnAttemptThatFails() async throws {
    let store = Self.store()
    store.currentValue = "manual"
    _ = try? await store.mutate(with: "!a")
    #expect(store.currentValue == "manual")
    #expect(Self.error(of: store) == "!a")
  }

  @Test func onlyTheLatestAttemptCounts() async throws {
    let gates = ["a": Gate(), "b": Gate()]
    let store = Self.store(gates)
    async let first = store.mutate(with: "a")
    await gates["a"]?.arrival()
    async let second = store.mutate(with: "b")
    await gates["b"]?.arrival()
    gates["a"]?.open()
    #expect(try await first == "A")
    #expect(spelled(store.history) == ["a: A", "b: loading"])
    #expect(store.isLoading)
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 0 && store.valueLastUpdatedAt == nil)
    gates["b"]?.open()
    #expect(try await second == "B")
    #expect(store.currentValue == "B")
    #expect(store.valueUpdateCount == 1)
  }

  @Test func anOlderAttemptThatEndsLastChangesOnlyItsEntry() async throws {
    let gates = ["!a": Gate()]
    let store = Self.store(gates)
    let first = Task { try await store.mutate(with: "!a") }
    await gates["!a"]?.arrival()
    try await store.mutate(with: "b")
    #expect(!store.isLoading)
    gates["!a"]?.open()
    await #expect(throws: TestError("!a")) { try await first.value }
    #expect(spelled(store.history) == ["!a: TestError(!a)", "b: B"])
    #expect(store.currentValue == "B")
    #expect(store.state.error == nil && store.errorUpdateCount == 0)
  }

  // MARK: - The error

  @Test func aSuccessClearsTheErrorAndKeepsItsCountAndDate() async throws {
    let store = Self.store()
    _ = try? await store.mutate(with: "!a")
    #expect(Self.error(of: store) == "!a")
    try await store.mutate(with: "b")
    #expect(store.state.error == nil)
    #expect(store.errorUpdateCount == 1)
    #expect(store.errorLastUpdatedAt == Date(timeIntervalSince1970: 1))
  }

  @Test func aManualErrorKeepsTheValueAndALaterSuccessClearsIt() async throws {
    let store = Self.store()
    try await store.mutate(with: "a")
    store.setResult(to: .failure(TestError("manual")))
    #expect(store.currentValue == "A")
    #expect(Self.error(of: store) == "manual")
    #expect(store.state.status.isFailure)
    try await store.mutate(with: "b")
    #expect(store.state.error == nil)
    #expect(store.state.status.resultValue == "B")
  }

  @Test func aManualValueClearsTheErrorOfAnAttempt() async throws {
    let store = Self.store()
    _ = try? await store.mutate(with: "!a")
    store.currentValue = "manual"
    #expect(store.state.error == nil)
    #expect(store.state.status.resultValue == "manual")
  }

  @Test func theErrorOfTheLaterUpdateCounts() async throws {
    let store = Self.store()
    _ = try? await store.mutate(with: "!a")
    store.setResult(to: .failure(TestError("manual")))
    #expect(Self.error(of: store) == "manual")
    _ = try? await store.mutate(with: "!b")
    #expect(Self.error(of: store) == "!b")
    #expect(store.errorUpdateCount == 3)
  }

  @Test func theErrorOfTheLatestAttemptIsNilWhileItLoads() async throws {
    let gates = ["b": Gate()]
    let store = Self.store(gates)
    _ = try? await store.mutate(with: "!a")
    async let second = store.mutate(with: "b")
    await gates["b"]?.arrival()
    #expect(store.state.error == nil)
    gates["b"]?.open()
    _ = try await second
  }

  @Test func anOlderManualErrorDoesNotComeBackWhileALaterAttemptLoads() async throws {
    let gates = ["b": Gate()]
    let store = Self.store(gates)
    store.setResult(to: .failure(TestError("manual")))
    _ = try? await store.mutate(with: "!a")
    #expect(Self.error(of: store) == "!a")
    async let second = store.mutate(with: "b")
    await gates["b"]?.arrival()
    #expect(store.state.error == nil)
    gates["b"]?.open()
    _ = try await second
    #expect(store.state.error == nil)
  }

  @Test func aManualErrorStaysWhileAnAttemptLoads() async throws {
    let gates = ["a": Gate()]
    let store = Self.store(gates)
    async let attempt = store.mutate(with: "a")
    await gates["a"]?.arrival()
    store.setResult(to: .failure(TestError("manual")))
    #expect(Self.error(of: store) == "manual")
    #expect(store.state.status.isLoading)
    gates["a"]?.open()
    _ = try await attempt
    #expect(store.state.error == nil)
  }

  // MARK: - Dates

  @Test func datesAreThoseOfTheLastUpdateOfEachKind() async throws {
    let clock = TestClock()
    let mutation = EchoMutation { call in
      clock.advance(by: 10)
      if call.arguments.hasPrefix("!") { throw TestError() }
      return call.echo
    }
    let store = QueryStore.detached(mutation: mutation.clock(clock))
    let start = clock.now()
    try await store.mutate(with: "a")
    #expect(store.history[0].startDate == start)
    #expect(store.history[0].lastUpdatedAt == start + 10)
    #expect(store.valueLastUpdatedAt == start + 10)
    clock.advance(by: 1)
    store.currentValue = "manual"
    #expect(store.valueLastUpdatedAt == start + 11)
    _ = try? await store.mutate(with: "!b")
    #expect(store.errorLastUpdatedAt == start + 21)
    #expect(store.valueLastUpdatedAt == start + 11)
    var context = QueryContext()
    context.queryClock = .timeFreeze(start + 50)
    store.setResult(to: .failure(TestError()), using: context)
    #expect(store.errorLastUpdatedAt == start + 50)
  }

  // MARK: - Reset and unrun attempts

  @Test func resetIsAFreshStateWithTheInitialValue() async throws {
    let gates = ["b": Gate()]
    let store = Self.store(gates, initialValue: "x")
    try await store.mutate(with: "a")
    store.currentValue = "manual"
    store.setResult(to: .failure(TestError()))
    let unrun = store.mutateTask(with: "a")
    let running = Task { try await store.mutate(with: "b") }
    await gates["b"]?.arrival()
    store.reset()
    #expect(unrun.isCancelled)
    await #expect(throws: CancellationError.self) { try await running.value }
    #expect(store.history.isEmpty)
    #expect(store.currentValue == "x")
    #expect(store.valueUpdateCount == 0 && store.errorUpdateCount == 0)
    #expect(store.valueLastUpdatedAt == nil && store.errorLastUpdatedAt == nil)
    #expect(store.state.error == nil && store.state.status.isIdle)
  }

  @Test func aCancelledUnrunAttemptFails() async throws {
    let store = Self.store()
    let events = EventCollector<EchoState>()
    let subscription = store.subscribe(with: events.mutationHandler())
    let task = store.mutateTask(with: "a")
    task.cancel()
    #expect(spelled(store.history) == ["a: CancellationError()"])
    #expect(store.state.status.isCancelled)
    #expect(store.errorUpdateCount == 1)
    #expect(events.events == [.stateChanged, .stateChanged, .stateChanged])
    await #expect(throws: CancellationError.self) { try await task.runIfNeeded() }
    subscription.cancel()
  }

  @Test func aDroppedUnrunAttemptVanishes() async throws {
    let store = Self.store()
    try await store.mutate(with: "a")
    let events = EventCollector<EchoState>()
    let subscription = store.subscribe(with: events.mutationHandler())
    do {
      let task = store.mutateTask(with: "b")
      #expect(spelled(store.history) == ["a: A", "b: loading"])
      withExtendedLifetime(task) {}
    }
    #expect(spelled(store.history) == ["a: A"])
    #expect(store.currentValue == "A")
    #expect(store.errorUpdateCount == 0)
    #expect(events.events == [.stateChanged, .stateChanged, .stateChanged])
    subscription.cancel()
  }

  @Test func anAttemptThatIsTheLatestAgainCountsOnce() async throws {
    let gate = Gate()
    let store = Self.store(["a": gate])
    async let first = store.mutate(with: "a")
    await gate.arrival()
    do {
      let dropped = store.mutateTask(with: "b")
      gate.open()
      #expect(try await first == "A")
      #expect(store.valueUpdateCount == 0)
      withExtendedLifetime(dropped) {}
    }
    #expect(spelled(store.history) == ["a: A"])
    #expect(store.currentValue == "A")
    #expect(store.valueUpdateCount == 1)
    #expect(store.valueLastUpdatedAt == store.history.last?.lastUpdatedAt)
    #expect(store.status.isSuccessful)
    // It was counted when it ended, or now; not both.
    store.mutateTask(with: "c")
    #expect(store.valueUpdateCount == 1)
  }

  @Test func anAttemptThatIsTheLatestAgainDoesNotHideALaterManualValue() async throws {
    let gate = Gate()
    let store = Self.store(["!a": gate])
    let first = Task { try await store.mutate(with: "!a") }
    await gate.arrival()
    do {
      let dropped = store.mutateTask(with: "b")
      gate.open()
      await #expect(throws: TestError("!a")) { try await first.value }
      store.currentValue = "manual"
      withExtendedLifetime(dropped) {}
    }
    #expect(store.errorUpdateCount == 1)
    #expect(store.errorLastUpdatedAt != nil)
    #expect(store.error == nil)
    #expect(store.currentValue == "manual")
  }

  @Test func aCancelledAttemptIsAFailure() async throws {
    let gates = ["a": Gate()]
    let store = Self.store(gates)
    let attempt = Task { try await store.mutate(with: "a") }
    await gates["a"]?.arrival()
    attempt.cancel()
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(store.state.status.isCancelled)
    #expect(spelled(store.history) == ["a: CancellationError()"])
  }

  @Test func anAttemptThatIgnoresCancellationSucceedsInTheState() async throws {
    let gate = Gate()
    let store = QueryStore.detached(
      mutation: EchoMutation { call in
        await gate.passIgnoringCancellation()
        return call.echo
      }
    )
    let attempt = Task { try await store.mutate(with: "a") }
    await gate.arrival()
    attempt.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(store.currentValue == "A")
  }
}
