import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryContextMutationsTests {
  @Test func withoutALimitTheNewestHundredAttemptsAreRemembered() async throws {
    let store = QueryStore.detached(mutation: EchoMutation())
    for index in 0..<100 { try await store.mutate(with: "\(index)") }
    #expect(store.history.map(\.arguments) == (0..<100).map { "\($0)" })
    for index in 100..<130 { try await store.mutate(with: "\(index)") }
    #expect(store.history.map(\.arguments) == (30..<130).map { "\($0)" })
    #expect(store.valueUpdateCount == 130)
  }

  @Test func aLimitMayBeLargerThanTheDefault() async throws {
    let store = QueryStore.detached(mutation: EchoMutation().maxHistory(length: .max))
    for index in 0..<130 { try await store.mutate(with: "\(index)") }
    #expect(store.history.count == 130)
  }

  @Test(arguments: [1, 2, 5])
  func theOldestAttemptsAreForgotten(length: Int) async throws {
    let store = QueryStore.detached(mutation: EchoMutation().maxHistory(length: length))
    for index in 0..<7 { try await store.mutate(with: "\(index)") }
    #expect(store.history.map(\.arguments) == (7 - length..<7).map { "\($0)" })
    #expect(store.currentValue == "6")
    #expect(store.valueUpdateCount == 7)
  }

  @Test func aForgottenAttemptRunsOnWithoutTouchingTheState() async throws {
    let gates = ["a": Gate()]
    let mutation = EchoMutation(gates: gates)
    let store = QueryStore.detached(mutation: mutation.maxHistory(length: 1))
    let events = EventCollector<EchoState>()
    let first = Task { try await store.mutate(with: "a", handler: events.mutationHandler()) }
    await gates["a"]?.arrival()
    try await store.mutate(with: "b")
    let date = store.valueLastUpdatedAt
    gates["a"]?.open()
    #expect(try await first.value == "A")
    #expect(spelled(store.history) == ["b: B"])
    #expect(store.currentValue == "B")
    #expect(store.valueUpdateCount == 1)
    #expect(store.valueLastUpdatedAt == date)
    #expect(
      events.events == [
        .stateChanged, .mutatingStarted("a"), .stateChanged, .mutatingStarted("b"),
        .mutationReturned("b", "B"), .stateChanged, .mutatingEnded("b"),
        .mutationReturned("a", "A"), .stateChanged, .mutatingEnded("a"),
      ]
    )
  }

  @Test func retryLatestWithALimitOfOne() async throws {
    let store = QueryStore.detached(mutation: EchoMutation().maxHistory(length: 1))
    try await store.mutate(with: "a")
    #expect(try await store.retryLatest() == "A")
    #expect(spelled(store.history) == ["a: A"])
  }

  @Test func theLimitNearestToTheRequestWins() async throws {
    let mutation = EchoMutation().maxHistory(length: 2).maxHistory(length: 9)
    let store = QueryStore.detached(mutation: mutation)
    for index in 0..<4 { try await store.mutate(with: "\(index)") }
    #expect(store.history.count == 2)
  }

  @Test func aForgottenUnrunAttemptRunsWhenItIsAskedTo() async throws {
    let store = QueryStore.detached(mutation: EchoMutation().maxHistory(length: 1))
    let first = store.mutateTask(with: "a")
    let second = store.mutateTask(with: "b")
    #expect(spelled(store.history) == ["b: loading"])
    #expect(try await first.runIfNeeded() == "A")
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 0)
    #expect(try await second.runIfNeeded() == "B")
    #expect(store.currentValue == "B")
  }

  @Test func aModifiedMutationIsOneStill() async throws {
    func path(of mutation: some MutationRequest<String, String>) -> QueryPath { mutation.path }
    let mutation = EchoMutation().maxHistory(length: 1).retry(limit: 2)
    #expect(path(of: mutation) == ["echo"])
    #expect(mutation._debugTypeName == "EchoMutation")
    let value = try await mutation.mutate(
      with: "x",
      in: QueryContext(),
      with: QueryContinuation { _, _ in }
    )
    #expect(value == "X")
  }

  // MARK: - Misuse

  @Test(arguments: [0, -1])
  func aLimitBelowOneStopsTheProgram(length: Int) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [length] in
      _ = EchoMutation().maxHistory(length: length)
    }
    try expectSentence("EchoMutation", in: result)
    try expectSentence(_tooSmallMutationHistoryLengthMessage(got: length), in: result)
  }

  @Test func theMessageSaysWhatItGot() {
    #expect(_tooSmallMutationHistoryLengthMessage(got: -3).contains("-3"))
  }
}
