import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct MutationEventHandlerTests {
  private let events = EventCollector<EchoState>()

  // MARK: - Orders

  @Test func aSuccess() async throws {
    let store = QueryStore.detached(mutation: EchoMutation())
    #expect(try await store.mutate(with: "a", handler: self.events.mutationHandler()) == "A")
    #expect(
      self.events.events == [
        .stateChanged, .mutatingStarted("a"), .mutationReturned("a", "A"), .stateChanged,
        .mutatingEnded("a"),
      ]
    )
    #expect(self.events.states.map(\.isLoading) == [true, false])
    #expect(self.events.states.map(\.currentValue) == [nil, "A"])
  }

  @Test func aFailure() async throws {
    let store = QueryStore.detached(mutation: EchoMutation { _ in throw TestError() })
    await #expect(throws: TestError()) {
      try await store.mutate(with: "a", handler: self.events.mutationHandler())
    }
    #expect(
      self.events.events == [
        .stateChanged, .mutatingStarted("a"), .mutationReturned("a", "TestError(expected)"),
        .stateChanged, .mutatingEnded("a"),
      ]
    )
    #expect(self.events.states.map { $0.error as? TestError } == [nil, TestError()])
  }

  @Test func yieldsUpdateTheEntryAndTheStateStaysLoading() async throws {
    let mutation = EchoMutation { call in
      call.continuation.yield("1")
      call.continuation.yield(error: TestError())
      call.continuation.yield("2")
      return "3"
    }
    let store = QueryStore.detached(mutation: mutation)
    try await store.mutate(with: "a", handler: self.events.mutationHandler())
    #expect(
      self.events.events == [
        .stateChanged, .mutatingStarted("a"), .mutationYielded("a", "1"), .stateChanged,
        .mutationYielded("a", "TestError(expected)"), .stateChanged, .mutationYielded("a", "2"),
        .stateChanged, .mutationReturned("a", "3"), .stateChanged, .mutatingEnded("a"),
      ]
    )
    let states = self.events.states
    #expect(states.map(\.isLoading) == [true, true, true, true, false])
    #expect(states.map(\.currentValue) == [nil, nil, nil, nil, "3"])
    #expect(states.allSatisfy { $0.error == nil })
    #expect(states.map { try? $0.history.last?.currentResult?.get() } == [nil, "1", nil, "2", "3"])
    #expect(states.map(\.valueUpdateCount) == [0, 1, 1, 2, 3])
    #expect(states.map(\.errorUpdateCount) == [0, 0, 1, 1, 1])
    #expect(states.dropLast().allSatisfy { $0.history.last?.status.isLoading == true })
  }

  @Test func severalAttemptsAtOnceTellTheirArguments() async throws {
    let gates = ["a": Gate(), "b": Gate()]
    let store = QueryStore.detached(mutation: EchoMutation(gates: gates))
    let subscription = store.subscribe(with: self.events.mutationHandler())
    async let first = store.mutate(with: "a")
    await gates["a"]?.arrival()
    async let second = store.mutate(with: "b")
    await gates["b"]?.arrival()
    gates["b"]?.open()
    _ = try await second
    gates["a"]?.open()
    _ = try await first
    #expect(
      self.events.events == [
        .stateChanged, .stateChanged, .mutatingStarted("a"), .stateChanged,
        .mutatingStarted("b"), .mutationReturned("b", "B"), .stateChanged, .mutatingEnded("b"),
        .mutationReturned("a", "A"), .stateChanged, .mutatingEnded("a"),
      ]
    )
    subscription.cancel()
  }

  @Test func ordinaryHandlersHearOfAnAttemptAsAFetch() async throws {
    let mutation = EchoMutation { call in
      call.continuation.yield("1")
      return "2"
    }
    let store = QueryStore.detached(mutation: mutation)
    let subscription = store.subscribe(with: self.events.handler)
    try await store.mutate(with: "a")
    #expect(self.events.events.count == 8)
    #expect(self.events.events.prefix(3) == [.stateChanged, .stateChanged, .fetchingStarted])
    #expect(self.events.events.suffix(1) == [.fetchingEnded])
    subscription.cancel()
  }

  @Test func subscribingIsSynchronousAndFetchesNothing() async throws {
    let mutation = EchoMutation()
    let store = QueryStore.detached(mutation: mutation)
    let subscription = store.subscribe(with: self.events.mutationHandler())
    #expect(self.events.events == [.stateChanged])
    #expect(store.subscriberCount == 1)
    #expect(!store.isAutomaticFetchingEnabled)
    #expect(!store.isLoading)
    #expect(mutation.attempts.elements.isEmpty)
    subscription.cancel()
  }

  // MARK: - Reset and cancellation

  @Test func afterAResetOnlyTheEndIsTold() async throws {
    let gate = Gate()
    let mutation = EchoMutation { call in
      await gate.passIgnoringCancellation()
      call.continuation.yield("late")
      return call.echo
    }
    let store = QueryStore.detached(mutation: mutation)
    let subscription = store.subscribe(with: self.events.mutationHandler())
    let attempt = Task { try await store.mutate(with: "a") }
    await gate.arrival()
    store.reset()
    gate.open()
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(
      self.events.events == [
        .stateChanged, .stateChanged, .mutatingStarted("a"), .stateChanged, .mutatingEnded("a"),
      ]
    )
    #expect(store.history.isEmpty)
    #expect(store.currentValue == nil)
    subscription.cancel()
  }

  @Test func aYieldAfterTheEndIsAWarning() async throws {
    let continuations = Recorder<QueryContinuation<String>>()
    let mutation = EchoMutation { call in
      continuations.append(call.continuation)
      return call.echo
    }
    let store = QueryStore.detached(mutation: mutation)
    try await store.mutate(with: "a")
    let subscription = store.subscribe(with: self.events.mutationHandler())
    let late = Result<MutationValue<String>, any Error>.failure(TestError("late"))
    await withExpectedWarnings([.queryYieldedAfterReturning(late)]) {
      continuations.elements[0].yield(error: TestError("late"))
    }
    #expect(self.events.events == [.stateChanged])
    #expect(store.currentValue == "A")
    subscription.cancel()
  }

  // MARK: - Contexts

  @Test func reasonsAndTaskOfTheContexts() async throws {
    let mutation = EchoMutation { call in
      call.continuation.yield("1")
      return "2"
    }
    let store = QueryStore.detached(mutation: mutation)
    try await store.mutate(with: "a", handler: self.events.mutationHandler())
    let contexts = self.events.entries.elements.map(\.context)
    #expect(
      contexts.map(\.queryResultUpdateReason) == [
        nil, nil, .yieldedResult, .yieldedResult, .returnedFinalResult, nil, nil,
      ]
    )
    let id = try #require(store.history.first?.id)
    #expect(
      contexts.map(\.queryRunningTaskIdentifier) == [nil, id, id, id, id, id, id]
    )
  }
}
