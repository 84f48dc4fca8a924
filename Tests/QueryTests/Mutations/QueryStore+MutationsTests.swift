import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryStoreMutationsTests {
  private let mutation = EchoMutation()

  private var store: QueryStore<EchoState> { .detached(mutation: self.mutation) }

  // MARK: - Attempts

  @Test func anAttemptReturnsItsValueAndIsRemembered() async throws {
    let store = self.store
    #expect(try await store.mutate(with: "a") == "A")
    #expect(try await store.mutate(with: "b", using: QueryContext()) == "B")
    #expect(try await store.mutateTask(with: "c").runIfNeeded() == "C")
    #expect(try await store.mutateTask(with: "d", using: store.context).runIfNeeded() == "D")
    #expect(spelled(store.history) == ["a: A", "b: B", "c: C", "d: D"])
    #expect(self.mutation.attempts.elements == ["a", "b", "c", "d"])
  }

  @Test func attemptsAreNotSerialised() async throws {
    let gate = Gate()
    let store = QueryStore.detached(
      mutation: EchoMutation { call in
        try await gate.pass()
        return call.echo
      }
    )
    async let first = store.mutate(with: "a")
    async let second = store.mutate(with: "a")
    await gate.arrival(2)
    #expect(store.history.count == 2)
    gate.open()
    #expect(try await (first, second) == ("A", "A"))
  }

  @Test func attemptsAreNotDeduplicated() async throws {
    let gate = Gate()
    let mutation = EchoMutation { call in
      try await gate.pass()
      return call.echo
    }
    let store = QueryStore.detached(mutation: mutation.deduplicated())
    async let first = store.mutate(with: "a")
    async let second = store.mutate(with: "a")
    await gate.arrival(2)
    gate.open()
    #expect(try await (first, second) == ("A", "A"))
    #expect(mutation.attempts.elements == ["a", "a"])
    #expect(store.valueUpdateCount >= 1)
  }

  /// A write that somebody makes later is not the one that ran when it was planned.
  @Test func anAttemptThatIsRunLaterSharesNothingThatHasEnded() async throws {
    let gate = Gate()
    let mutation = EchoMutation(gates: ["a": gate])
    let store = QueryStore.detached(mutation: mutation.deduplicated { _, _ in true })
    let first = Task { try await store.mutate(with: "a") }
    await gate.arrival()
    let later = store.mutateTask(with: "b")
    gate.open()
    #expect(try await first.value == "A")
    #expect(try await later.runIfNeeded() == "B")
    #expect(mutation.attempts.elements == ["a", "b"])
    #expect(spelled(store.history) == ["a: A", "b: B"])
  }

  // MARK: - Retrying

  @Test func retryLatestIsANewAttemptWithTheLatestArguments() async throws {
    let store = self.store
    try await store.mutate(with: "a")
    try await store.mutate(with: "b")
    #expect(try await store.retryLatest() == "B")
    #expect(try await store.retryLatest(using: QueryContext()) == "B")
    #expect(try await store.retryLatestTask().runIfNeeded() == "B")
    #expect(try await store.retryLatestTask(using: store.context).runIfNeeded() == "B")
    #expect(spelled(store.history) == ["a: A", "b: B", "b: B", "b: B", "b: B", "b: B"])
    #expect(Set(store.history.ids).count == 6)
  }

  @Test func aPlainFetchIsARetry() async throws {
    let store = self.store
    try await store.mutate(with: "a")
    #expect(try await store.fetch().returnValue == "A")
    #expect(try await OpaqueQueryStore(erasing: store).fetch() is MutationValue<String>)
    #expect(spelled(store.history) == ["a: A", "a: A", "a: A"])
  }

  @Test func retryLatestTakesTheArgumentsOfAnAttemptThatRuns() async throws {
    let gates = ["a": Gate()]
    let store = QueryStore.detached(mutation: EchoMutation(gates: gates))
    async let first = store.mutate(with: "a")
    await gates["a"]?.arrival()
    async let second = store.retryLatest()
    await gates["a"]?.arrival(2)
    gates["a"]?.open()
    #expect(try await (first, second) == ("A", "A"))
  }

  @Test func retryLatestIgnoresTheArgumentsOfItsContext() async throws {
    let store = self.store
    let context = store.mutateTask(with: "z").context
    try await store.mutate(with: "a")
    #expect(try await store.retryLatest(using: context) == "A")
    // A plain fetch takes them.
    #expect(try await store.fetch(using: context).returnValue == "Z")
  }

  @Test func withoutArgumentsThereIsAWarningAnErrorAndNoHistory() async throws {
    let store = self.store
    let events = EventCollector<EchoState>()
    try await withExpectedWarnings([.mutationWithNoArgumentsOrHistory]) {
      let error = await #expect(throws: MissingMutationArgumentsError.self) {
        try await store.retryLatest(handler: events.mutationHandler())
      }
      let message = "\(try #require(error))"
      #expect(message.contains("EchoMutation") && message.contains("mutate(with:)"))
    }
    #expect(store.history.isEmpty)
    #expect(!store.isLoading)
    #expect(store.state.status.isIdle)
    #expect(store.errorUpdateCount == 0)
    #expect(!events.events.contains(.mutatingStarted("")))
    #expect(events.events.allSatisfy { $0 == .stateChanged })
    #expect(self.mutation.attempts.elements.isEmpty)
  }

  @Test func aPlainFetchWithoutArgumentsThrowsToo() async throws {
    let store = self.store
    await withExpectedWarnings([.mutationWithNoArgumentsOrHistory]) {
      await #expect(throws: (any Error).self) { try await store.fetch() }
    }
    await withExpectedWarnings([.mutationWithNoArgumentsOrHistory]) {
      let task = store.retryLatestTask()
      #expect(!store.isLoading)
      await #expect(throws: (any Error).self) { try await task.runIfNeeded() }
    }
    #expect(store.history.isEmpty)
  }

  @Test func theWarningMayReadTheStore() async throws {
    let store = self.store
    let recorder = WarningRecorder()
    await recorder.record {
      store.withExclusiveAccess { store in
        _ = store.retryLatestTask()
        // It comes after the lock.
        #expect(recorder.warnings.isEmpty)
      }
    }
    #expect(recorder.warnings == [.mutationWithNoArgumentsOrHistory])
  }

  // MARK: - Without arguments

  @Test func mutationsThatTakeNoArguments() async throws {
    struct Logout: MutationRequest, Hashable {
      func mutate(
        with arguments: Void,
        in context: QueryContext,
        with continuation: QueryContinuation<Int>
      ) async throws -> Int { 7 }
    }
    let store = QueryStore.detached(mutation: Logout())
    #expect(try await store.mutate() == 7)
    #expect(try await store.mutate(using: QueryContext()) == 7)
    #expect(try await store.mutateTask().runIfNeeded() == 7)
    #expect(try await store.mutateTask(using: QueryContext()).runIfNeeded() == 7)
    #expect(try await store.retryLatest() == 7)
    #expect(store.history.count == 5)
    let direct = try await Logout().mutate(
      in: QueryContext(),
      with: QueryContinuation { _, _ in }
    )
    #expect(direct == 7)
    let events = EventCollector<MutationState<Void, Int>>()
    try await store.mutate(handler: events.mutationHandler())
    #expect(
      events.events == [
        .stateChanged, .mutatingStarted("()"), .mutationReturned("()", "7"), .stateChanged,
        .mutatingEnded("()"),
      ]
    )
  }

  @Test func optionalArgumentsMayBeNil() async throws {
    struct Rename: MutationRequest, Hashable {
      func mutate(
        with arguments: String?,
        in context: QueryContext,
        with continuation: QueryContinuation<String?>
      ) async throws -> String? { arguments }
    }
    let store = QueryStore.detached(mutation: Rename())
    #expect(try await store.mutate(with: nil) == nil)
    #expect(store.history.count == 1)
    #expect(try await store.retryLatest() == nil)
    #expect(store.history.count == 2)
    #expect(store.state.status.isSuccessful)
  }

  // MARK: - Names

  @Test func namesOfTheTasks() async throws {
    let store = self.store
    try await store.mutate(with: "a")
    let prefix = "QueryStore<MutationState<String, String>>"
    #expect(store.mutateTask(with: "a").configuration.name == "\(prefix) Mutate Task")
    #expect(store.retryLatestTask().configuration.name == "\(prefix) Retry Latest Task")
    #expect(store.fetchTask().configuration.name == "\(prefix) Task")
  }

  @Test func customNamesAreRespected() async throws {
    let mutation = self.mutation.taskConfiguration(QueryTaskConfiguration(name: "Mine"))
    let store = QueryStore.detached(mutation: mutation)
    #expect(store.mutateTask(with: "a").configuration.name == "Mine")
    try await store.mutate(with: "a", using: QueryTaskConfiguration(name: "Other"))
    #expect(store.history.first?.task.configuration.name == "Other")
    #expect(store.retryLatestTask().configuration.name == "Mine")
  }

  // MARK: - Lifetime

  @Test func aStoreWithHistoryIsReleased() async throws {
    weak var released: QueryStore<EchoState>?
    do {
      let store = self.store
      released = store
      try await store.mutate(with: "a")
      _ = try? await store.retryLatest()
      store.mutateTask(with: "c").cancel()
      #expect(store.history.count == 3)
    }
    #expect(released == nil)
  }

  @Test func aStoreIsReleasedWhenItsLastAttemptHasEnded() async throws {
    let gate = Gate()
    let mutation = EchoMutation { call in
      try await gate.pass()
      return call.echo
    }
    weak var released: QueryStore<EchoState>?
    var attempt: Task<String, any Error>?
    do {
      let store = QueryStore.detached(mutation: mutation)
      released = store
      let task = store.mutateTask(with: "a")
      attempt = Task { try await task.runIfNeeded() }
      await gate.arrival()
    }
    #expect(released != nil)
    gate.open()
    #expect(try await attempt?.value == "A")
    #expect(released == nil)
  }

  @Test func aHeldUnrunAttemptKeepsItsStore() async throws {
    weak var released: QueryStore<EchoState>?
    var task: QueryTask<String>?
    do {
      let store = self.store
      released = store
      task = store.mutateTask(with: "a")
    }
    #expect(released != nil)
    #expect(try await task?.runIfNeeded() == "A")
    #expect(released == nil)
  }
}
