import Query
import TestSupport
import Testing

@MainActor @Suite(.warningsAreIssues) struct DeduplicationModifierTests {
  private let gate = Gate()
  private let predicate = AskingPredicate()

  // MARK: - Sharing

  @Test func overlappingFetchesShareOneCall() async throws {
    let query = SharedQuery(self.gate)
    let store = query.deduplicated(by: self.predicate.isDuplicate).sharedStore()
    let first = store.fetchInTask()
    await self.gate.arrival()
    let second = store.fetchInTask()
    await self.predicate.questions.wait(forCount: 1)
    self.gate.open()
    #expect(try await first.value == 1)
    #expect(try await second.value == 1)
    #expect(query.fetches.value == 1)
    // Each has its own update of the state.
    #expect(store.valueUpdateCount == 2)
    #expect(store.currentValue == 1)
  }

  @Test func eachFetchHasItsOwnTaskAndEvents() async throws {
    let query = SharedQuery(self.gate)
    let store = query.deduplicated(by: self.predicate.isDuplicate).sharedStore()
    let events = EventCollector<SharedState>()
    let subscription = store.subscribe(with: events.handler)
    let first = store.fetchInTask()
    await self.gate.arrival()
    let second = store.fetchInTask()
    await self.predicate.questions.wait(forCount: 1)
    #expect(store.activeTasks.count == 2)
    self.gate.open()
    _ = try await (first.value, second.value)
    #expect(events.events.count { $0 == .fetchingStarted } == 2)
    #expect(events.events.count { $0 == .returned("1") } == 2)
    #expect(events.events.count { $0 == .fetchingEnded } == 2)
    #expect(events.events.count { $0 == .stateChanged } == 5)
    let identifiers = events.contexts(of: .fetchingEnded).map(\.queryRunningTaskIdentifier)
    #expect(Set(identifiers).count == 2)
    subscription.cancel()
  }

  @Test func fetchesThatDoNotOverlapShareNothing() async throws {
    let query = SharedQuery { $0.number }
    let store = query.deduplicated().sharedStore()
    #expect(try await store.fetch() == 1)
    #expect(try await store.fetch() == 2)
    #expect(store.valueUpdateCount == 2)
  }

  @Test func withoutThePredicateEveryOverlappingFetchIsADuplicate() async throws {
    let query = SharedQuery(self.gate)
    let store = query.deduplicated().sharedStore()
    let first = store.fetchInTask()
    await self.gate.arrival()
    let events = EventCollector<SharedState>()
    let second = Task { try await store.fetch(handler: events.handler) }
    await events.wait(for: .fetchingStarted)
    self.gate.open()
    #expect(try await (first.value, second.value) == (1, 1))
    #expect(query.fetches.value == 1)
    #expect(store.valueUpdateCount == 2)
  }

  @Test func errorsAreShared() async throws {
    let query = SharedQuery { [gate] call in
      try await gate.pass()
      throw TestError("\(call.number)")
    }
    let store = query.deduplicated(by: self.predicate.isDuplicate).sharedStore()
    let first = store.fetchInTask()
    await self.gate.arrival()
    let second = store.fetchInTask()
    await self.predicate.questions.wait(forCount: 1)
    self.gate.open()
    await #expect(throws: TestError("1")) { try await first.value }
    await #expect(throws: TestError("1")) { try await second.value }
    #expect(store.errorUpdateCount == 2)
    #expect(query.fetches.value == 1)
  }

  // MARK: - Predicates

  @Test func thePredicateIsAskedWithTheRunningAndTheNewContext() async throws {
    let predicate = AskingPredicate { running, new in running.maxRetries == new.maxRetries }
    let query = SharedQuery(self.gate)
    let store = query.deduplicated(by: predicate.isDuplicate).sharedStore()
    var context = store.context
    context.maxRetries = 1
    let first = Task { [context] in try await store.fetch(using: context) }
    await self.gate.arrival()
    context.maxRetries = 2
    let second = Task { [context] in try await store.fetch(using: context) }
    await self.gate.arrival(2)
    let third = Task { [context] in try await store.fetch(using: context) }
    await predicate.questions.wait(forCount: 3)
    let asked = predicate.questions.elements.map { [$0.running.maxRetries, $0.new.maxRetries] }
    #expect(asked == [[1, 2], [1, 2], [2, 2]])
    self.gate.open()
    #expect(try await first.value == 1)
    #expect(try await second.value == 2)
    #expect(try await third.value == 2)
    #expect(query.fetches.value == 2)
  }

  @Test func thePredicateRunsUnderNoLock() async throws {
    // It uses the store, and starts a fetch of its own, which asks the predicate again.
    let query = SharedQuery(self.gate)
    let holder = Recorder<QueryStore<SharedState>>()
    let nested = Recorder<Task<Int, any Error>>()
    let predicate = AskingPredicate { _, _ in
      let store = holder.elements[0]
      store.setResult(to: .failure(TestError()))
      if nested.count == 0 { nested.append(Task { @MainActor in try await store.fetch() }) }
      return store.withExclusiveAccess { $0.isLoading }
    }
    let store = query.deduplicated(by: predicate.isDuplicate).sharedStore()
    holder.append(store)
    let first = store.fetchInTask()
    await self.gate.arrival()
    let second = store.fetchInTask()
    await predicate.questions.wait(forCount: 2)
    self.gate.open()
    let values = try await (first.value, second.value, nested.elements[0].value)
    #expect(values == (1, 1, 1))
    holder.removeAll()
  }

  // MARK: - Layers

  @Test func ofNestedLayersTheOutermostSharesByTheInnermostRule() async throws {
    let inner = AskingPredicate { _, _ in false }
    let outer = AskingPredicate()
    let query = SharedQuery(self.gate)
    let layered = Counter()
    let store = query.deduplicated(by: inner.isDuplicate)
      .modifier(CountingLayer(counter: layered))
      .deduplicated(by: outer.isDuplicate)
      .sharedStore()
    let first = store.fetchInTask()
    await self.gate.arrival()
    let second = store.fetchInTask()
    await self.gate.arrival(2)
    self.gate.open()
    _ = try await (first.value, second.value)
    #expect(query.fetches.value == 2)
    #expect(inner.questions.count == 1)
    #expect(outer.questions.count == 0)
    #expect(layered.value == 2)
  }

  @Test func whatIsInsideTheOutermostLayerIsShared() async throws {
    let inner = AskingPredicate()
    let query = SharedQuery(self.gate)
    let layered = Counter()
    let store = query.deduplicated(by: inner.isDuplicate)
      .modifier(CountingLayer(counter: layered))
      .deduplicated { _, _ in false }
      .sharedStore()
    let first = store.fetchInTask()
    await self.gate.arrival()
    let second = store.fetchInTask()
    await inner.questions.wait(forCount: 1)
    self.gate.open()
    #expect(try await (first.value, second.value) == (1, 1))
    #expect(query.fetches.value == 1)
    #expect(layered.value == 1)
  }

  @Test func aRetryInsideIsShared() async throws {
    let query = SharedQuery { [gate] call in
      try await gate.pass()
      if call.number < 3 { throw TestError() }
      return call.number
    }
    let store = query.retry(limit: 2).delayer(.noDelay)
      .deduplicated(by: self.predicate.isDuplicate).sharedStore()
    let first = store.fetchInTask()
    await self.gate.arrival()
    let second = store.fetchInTask()
    await self.predicate.questions.wait(forCount: 1)
    self.gate.open()
    #expect(try await (first.value, second.value) == (3, 3))
    #expect(query.fetches.value == 3)
  }

  // MARK: - Stores

  @Test func storesOfOneQueryDoNotShare() async throws {
    let query = SharedQuery(self.gate)
    let deduplicated = query.deduplicated()
    let first = deduplicated.sharedStore().fetchInTask()
    let second = deduplicated.sharedStore().fetchInTask()
    await self.gate.arrival(2)
    self.gate.open()
    _ = try await (first.value, second.value)
    #expect(query.fetches.value == 2)
  }

  @Test func aStoreMadeWithTheContextOfAnotherDoesNotShareWithIt() async throws {
    let query = SharedQuery(self.gate)
    let store = query.deduplicated().sharedStore()
    let other = QueryStore.detached(
      query: query.deduplicated(),
      initialValue: nil,
      initialContext: store.context
    )
    let first = store.fetchInTask()
    let second = other.fetchInTask()
    await self.gate.arrival(2)
    self.gate.open()
    _ = try await (first.value, second.value)
    #expect(query.fetches.value == 2)
  }

  @Test func aFetchWithTheContextOfAnotherStoreDoesNotGetItsValue() async throws {
    let query = SharedQuery(self.gate)
    let store = query.deduplicated().sharedStore()
    let other = SharedQuery { _ in 100 }.deduplicated().sharedStore()
    let first = store.fetchInTask()
    await self.gate.arrival()
    #expect(try await other.fetch(using: store.context) == 100)
    self.gate.open()
    #expect(try await first.value == 1)
  }

  // MARK: - Paradigms

  @Test func mutationsAreNoDuplicatesUnlessAPredicateSaysSo() async throws {
    let gate = self.gate
    let mutation = EchoMutation { call in
      try await gate.pass()
      return call.echo
    }
    let store = QueryStore.detached(
      mutation: mutation.deduplicated(by: self.predicate.isDuplicate)
    )
    let first = Task { try await store.mutate(with: "a") }
    await gate.arrival()
    let second = Task { try await store.mutate(with: "b") }
    await self.predicate.questions.wait(forCount: 1)
    gate.open()
    #expect(try await (first.value, second.value) == ("A", "A"))
    #expect(mutation.attempts.elements == ["a"])
    #expect(spelled(store.history) == ["a: A", "b: A"])
  }

  @Test func setupCountsOneLayerHoweverOftenTheContextIsReused() async throws {
    let query = SharedQuery { $0.number }.deduplicated()
    var context = QueryContext()
    for _ in 0..<3 { query.setup(context: &context) }
    let store = QueryStore.detached(query: query, initialValue: nil, initialContext: context)
    #expect(try await store.fetch() == 1)
  }
}

private struct CountingLayer<Query: QueryRequest>: QueryModifier {
  let counter: Counter

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    self.counter.increment()
    return try await query.fetch(in: context, with: continuation)
  }
}
