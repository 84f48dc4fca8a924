import Foundation
import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct InvalidationTests {
  private let clock = TestClock()

  // MARK: - One store

  @Test func anInvalidatedValueIsStaleWhateverItsAge() async throws {
    let query = ProbeQuery().stale(after: 1_000).clock(self.clock)
    let store = QueryStore.detached(query: query, initialValue: nil)
    store.currentValue = 5
    #expect(!store.isStale)
    #expect(!store.isInvalidated)
    store.invalidate()
    #expect(store.isStale)
    #expect(store.isInvalidated)
    #expect(store.currentValue == 5, "the value itself stays")
    #expect(store.valueUpdateCount == 1)
    #expect(store.valueLastUpdatedAt == self.clock.now())
  }

  @Test func aSuccessClearsItAndAFailureDoesNot() async throws {
    let query = ProbeQuery().stale(after: 1_000).clock(self.clock)
    let store = QueryStore.detached(query: query, initialValue: nil)
    store.currentValue = 5
    store.invalidate()
    store.setResult(to: .failure(TestError()))
    #expect(store.isInvalidated)
    #expect(store.isStale)
    try await store.fetch()
    #expect(!store.isInvalidated)
    #expect(!store.isStale)
    store.invalidate()
    store.currentValue = 6
    #expect(!store.isInvalidated)
    store.invalidate()
    store.reset()
    #expect(!store.isInvalidated)
  }

  @Test func aFetchThatFailsLeavesItInvalidated() async {
    let query = ProbeQuery(onFetch: { _, _ in throw TestError() }).clock(self.clock)
    let store = QueryStore.detached(query: query, initialValue: 5)
    store.invalidate()
    await #expect(throws: TestError.self) { try await store.fetch() }
    #expect(store.isInvalidated)
  }

  @Test func aDateInTheFutureIsStale() {
    let query = ProbeQuery().stale(after: 1_000).clock(self.clock)
    let store = QueryStore.detached(query: query, initialValue: nil)
    self.clock.advance(by: 1)
    store.currentValue = 5
    #expect(!store.isStale)
    self.clock.advance(by: -0.5)
    #expect(store.isStale)
    self.clock.advance(by: 0.5)
    #expect(!store.isStale)
  }

  // MARK: - Fetching

  @Test func withoutSubscribersNothingIsFetched() {
    let fetches = Counter()
    let query = ProbeQuery(onFetch: { _, _ in fetches.increment() }).stale(after: 1_000)
    let store = QueryClient().store(for: query)
    store.invalidate()
    #expect(!store.isLoading)
    #expect(fetches.value == 0)
  }

  @Test func withSubscribersItIsFetchedAtOnce() async {
    let fetches = Counter()
    let query = ProbeQuery(onFetch: { _, _ in fetches.increment() }).stale(after: 1_000)
    let store = QueryClient().store(for: query)
    store.currentValue = 5
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = store.subscribe(with: collector.handler)
    #expect(!store.isLoading)
    store.invalidate()
    #expect(store.isLoading)
    await collector.wait(for: .fetchingEnded)
    #expect(fetches.value == 1)
    #expect(!store.isInvalidated)
    #expect(collector.states.map(\.isInvalidated) == [false, true, true, false])
    withExtendedLifetime(subscription) {}
  }

  @Test func aStoreThatDoesNotFetchByItselfOnlyTellsOfIt() {
    let store = QueryStore.detached(query: ProbeQuery(), initialValue: 5)
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = store.subscribe(with: collector.handler)
    store.invalidate()
    #expect(!store.isLoading)
    #expect(collector.events == [.stateChanged, .stateChanged])
    withExtendedLifetime(subscription) {}
  }

  // MARK: - While a fetch is under way

  /// A query whose fetches return their number, each after a gate of its own.
  private func query(_ gates: [Gate]) -> SharedQuery {
    SharedQuery { call in
      try await gates[call.number - 1].pass()
      return call.number
    }
  }

  @Test func aFetchThatBeganBeforeItDoesNotClearItAndIsNotShared() async throws {
    let gates = [Gate(), Gate()]
    let query = self.query(gates)
    let store = QueryClient().store(for: query.stale(after: 1_000))
    let collector = EventCollector<SharedState>()
    let subscription = store.subscribe(with: collector.handler)
    await gates[0].arrival()
    store.invalidate()
    await gates[1].arrival()
    gates[0].open()
    await collector.wait(for: .fetchingEnded)
    #expect(store.currentValue == 1)
    #expect(store.isInvalidated && store.isStale)
    gates[1].open()
    await collector.wait(for: .fetchingEnded, count: 2)
    #expect(store.currentValue == 2)
    #expect(!store.isInvalidated && !store.isStale)
    #expect(query.fetches.value == 2)
    subscription.cancel()
  }

  @Test func anOlderAnswerThatComesLastDoesNotReplaceTheNewerOne() async throws {
    let gates = [Gate(), Gate()]
    let query = self.query(gates)
    let store = QueryClient().store(for: query.stale(after: 1_000))
    let collector = EventCollector<SharedState>()
    let subscription = store.subscribe(with: collector.handler)
    await gates[0].arrival()
    store.invalidate()
    await gates[1].arrival()
    gates[1].open()
    await collector.wait(for: .fetchingEnded)
    let date = store.valueLastUpdatedAt
    gates[0].open()
    await collector.wait(for: .fetchingEnded, count: 2)
    #expect(collector.states.map(\.currentValue).filter { $0 == 1 }.isEmpty)
    #expect(store.currentValue == 2)
    #expect(store.valueLastUpdatedAt == date && store.valueUpdateCount == 1)
    #expect(!store.isInvalidated && !store.isStale && !store.isLoading)
    #expect(query.fetches.value == 2)
    subscription.cancel()
  }

  /// Four fetches, each behind an invalidation but the first, that end in the given order.
  @Test(arguments: [
    ([1, 2], [1, 2]), ([2, 1], [2]), ([1, 3, 2], [1, 3]), ([3, 2, 4, 1], [3, 4]),
    ([4, 3, 2, 1], [4]),
    ([2, 3, 1, 4], [2, 3, 4]),
  ])
  func anOlderAnswerDoesNotReplaceANewerOneThatIsInvalidatedAsWell(
    ends: [Int], shown: [Int]
  ) async throws {
    let gates = (0..<4).map { _ in Gate() }
    let store = QueryClient().store(for: self.query(gates).stale(after: 1_000))
    let collector = EventCollector<SharedState>()
    let subscription = store.subscribe(with: collector.handler)
    await gates[0].arrival()
    for gate in gates.dropFirst() {
      store.invalidate()
      await gate.arrival()
    }
    for (count, number) in ends.enumerated() {
      gates[number - 1].open()
      await collector.wait(for: .fetchingEnded, count: count + 1)
    }
    var values = [Int]()
    for case let value? in collector.states.map(\.currentValue) where values.last != value {
      values.append(value)
    }
    #expect(values == shown)
    #expect(store.isInvalidated == !ends.contains(4))
    subscription.cancel()
    for gate in gates { gate.open() }
  }

  /// The value comes, and is invalidated, while an older fetch is under way.
  @Test(arguments: [true, false])
  func nothingOfAnOlderFetchReplacesAValueThatWasInvalidatedSince(isSet: Bool) async throws {
    let gates = [Gate(), Gate()]
    let store = SharedQuery { call in
      try await gates[call.number - 1].pass()
      if call.number == 1 { call.continuation.yield(5) }
      return call.number
    }.stale(after: 1_000).sharedStore()
    let collector = EventCollector<SharedState>()
    let older = Task { try await store.fetch(handler: collector.handler) }
    await gates[0].arrival()
    store.invalidate()
    if isSet {
      store.currentValue = 2
    } else {
      let newer = Task { try await store.fetch() }
      await gates[1].arrival()
      gates[1].open()
      #expect(try await newer.value == 2)
    }
    store.invalidate()
    gates[0].open()
    #expect(try await older.value == 1)
    #expect(store.currentValue == 2 && store.isInvalidated)
    // The caller of the older one hears of it.
    #expect(collector.states.last?.currentValue == 2)
  }

  /// Begins a fetch, and another one behind an invalidation, which ends with 2.
  ///
  /// - Returns: The first one, which waits at its gate.
  private func olderFetch(
    of store: QueryStore<SharedState>, _ gates: [Gate]
  ) async throws -> Task<Int, any Error> {
    let older = Task { try await store.fetch() }
    await gates[0].arrival()
    store.invalidate()
    let newer = Task { try await store.fetch() }
    await gates[1].arrival()
    gates[1].open()
    #expect(try await newer.value == 2)
    return older
  }

  @Test func anOlderFailureThatComesLastIsNoneOfTheNewerValue() async throws {
    let gates = [Gate(), Gate()]
    let store = SharedQuery { call in
      try await gates[call.number - 1].pass()
      if call.number == 1 { throw TestError() }
      return call.number
    }.stale(after: 1_000).sharedStore()
    let older = try await self.olderFetch(of: store, gates)
    gates[0].open()
    await #expect(throws: TestError.self) { try await older.value }
    #expect(store.currentValue == 2 && store.error == nil && store.errorUpdateCount == 0)
  }

  @Test func withoutDeduplicationAnOlderAnswerDoesNotClearItEither() async throws {
    let gates = [Gate(), Gate()]
    let store = self.query(gates).stale(after: 1_000).sharedStore()
    let older = try await self.olderFetch(of: store, gates)
    #expect(!store.isInvalidated)
    gates[0].open()
    #expect(try await older.value == 1)
    #expect(store.currentValue == 2)
    #expect(!store.isInvalidated && !store.isStale)
  }

  @Test func neitherAYieldNorAFailureOfAnOlderFetchClearsIt() async throws {
    let gate = Gate()
    let query = SharedQuery { call in
      try await gate.pass()
      call.continuation.yield(5)
      throw TestError()
    }
    let store = query.stale(after: 1_000).sharedStore()
    let collector = EventCollector<SharedState>()
    let fetch = Task { try await store.fetch(handler: collector.handler) }
    await gate.arrival()
    store.invalidate()
    gate.open()
    await #expect(throws: TestError.self) { try await fetch.value }
    #expect(collector.states.map(\.isInvalidated) == [false, true, true, true])
    #expect(collector.states.map(\.currentValue) == [nil, nil, 5, 5])
    #expect(store.isInvalidated)
    store.currentValue = 6
    #expect(!store.isInvalidated)
  }

  @Test @MainActor func aDuplicateIsAsOldAsTheFetchThatItJoined() async throws {
    let gates = [Gate(), Gate()]
    let predicate = AskingPredicate()
    let query = self.query(gates)
    let store = query.deduplicated(by: predicate.isDuplicate).sharedStore()
    let older = [store.fetchInTask(), store.fetchInTask()]
    await gates[0].arrival()
    await predicate.questions.wait(forCount: 1)
    store.invalidate()
    let newer = [store.fetchInTask(), store.fetchInTask()]
    await gates[1].arrival()
    await predicate.questions.wait(forCount: 2)
    gates[0].open()
    for fetch in older { #expect(try await fetch.value == 1) }
    #expect(store.isInvalidated)
    gates[1].open()
    for fetch in newer { #expect(try await fetch.value == 2) }
    #expect(!store.isInvalidated)
    #expect(query.fetches.value == 2)
  }

  // MARK: - Other paradigms

  @Test func anInfiniteQueryIsInvalidatedAsAWhole() async throws {
    let store = QueryStore.detached(query: ProbePages().stale(after: 1_000).clock(self.clock))
    try await store.fetchNextPage()
    #expect(!store.isStale)
    store.invalidate()
    #expect(store.isInvalidated)
    #expect(store.isStale)
    // A page alone renews neither the others nor their age.
    try await store.fetchNextPage()
    #expect(store.isInvalidated)
    try await store.fetch()
    #expect(!store.isInvalidated)
  }

  @Test func anOpaqueStoreIsInvalidatedToo() {
    let store = QueryStore.detached(query: ProbeQuery(), initialValue: 5)
    OpaqueQueryStore(erasing: store).invalidate()
    #expect(store.isInvalidated)
  }

  @Test func aMutationHasNothingToInvalidate() {
    let store = QueryStore.detached(mutation: ProbeMutation())
    store.invalidate()
    #expect(!store.isInvalidated)
  }

  /// A history has the result of each attempt, in whatever order they end.
  @Test(arguments: [true, false])
  func aMutationsHistoryLosesNothingByAnInvalidation(isDeduplicated: Bool) async throws {
    let (gateOfA, gateOfB) = (Gate(), Gate())
    let mutation = EchoMutation(gates: ["a": gateOfA, "b": gateOfB])
    let store =
      isDeduplicated
      ? QueryStore.detached(mutation: mutation.deduplicated { _, _ in true })
      : QueryStore.detached(mutation: mutation)
    let first = Task { try await store.mutate(with: "a") }
    await gateOfA.arrival()
    store.invalidate()
    let second = Task { try await store.mutate(with: "b") }
    await gateOfB.arrival()
    store.invalidate()
    gateOfB.open()
    #expect(try await second.value == "B")
    gateOfA.open()
    #expect(try await first.value == "A")
    #expect(spelled(store.history) == ["a: A", "b: B"])
  }

  // MARK: - A client's stores

  @Test func aClientInvalidatesTheStoresUnderAPath() {
    let client = QueryClient()
    let paths: [QueryPath] = [["a"], ["a", 1], ["a", 1, 2], ["ab"], []]
    let stores = paths.map { client.store(for: ScriptedQuery(path: $0) { _, _ in 1 }) }
    client.invalidate(matching: ["a"])
    #expect(stores.map(\.isInvalidated) == [true, true, true, false, false])
    client.invalidate()
    #expect(stores.map(\.isInvalidated) == [true, true, true, true, true])
  }

  /// A storage of an earlier launch.
  private static func storage<Query: QueryRequest>(
    with number: Int, of query: Query
  ) async throws -> MemoryQueryStorage
  where Query.Value == DecodedNumber, Query.State == QueryState<DecodedNumber?, DecodedNumber> {
    let storage = MemoryQueryStorage()
    let store = QueryClient(storage: storage).store(for: query)
    store.currentValue = DecodedNumber(number: number)
    try await storage.flush()
    return storage
  }

  /// By a call, or by a mutation, behind the commit that has marked the storage.
  @Test(arguments: [true, false])
  func aStoreThatIsBeingMadeMeanwhileIsInvalidatedToo(isByCall: Bool) async throws {
    let query = ScriptedQuery<DecodedNumber> { _, _ in DecodedNumber(number: 2) }
      .stale(after: 1_000).persisted(as: "decoded")
    let client = QueryClient(storage: try await Self.storage(with: 1, of: query))
    // The stored value is read by now, and the store is not among the client's yet.
    let invalidate: @Sendable () -> Void = {
      #expect(
        isDoneElsewhere {
          if isByCall {
            client.invalidate(matching: ["scripted"])
          } else {
            client.invalidateStores(matching: ["scripted"])
          }
        })
    }
    let store = DecodedNumber.$onDecode.withValue(invalidate) { client.store(for: query) }
    #expect(store.currentValue?.number == 1)
    #expect(store.isInvalidated && store.isStale)
  }

  /// Whether a store is invalidated when another thread invalidates paths, one by one, while it is made.
  private static func isInvalidated(by paths: [QueryPath]) async throws -> Bool {
    let query = ScriptedQuery<DecodedNumber> { _, _ in DecodedNumber(number: 2) }
      .stale(after: 1_000).persisted(as: "decoded")
    let client = QueryClient(storage: try await Self.storage(with: 1, of: query))
    let invalidate: @Sendable () -> Void = {
      #expect(isDoneElsewhere { for path in paths { client.invalidate(matching: path) } })
    }
    return DecodedNumber.$onDecode.withValue(invalidate) { client.store(for: query).isInvalidated }
  }

  @Test func aStoreThatIsBeingMadeStaysFreshWhenOthersAreInvalidated() async throws {
    let others: [QueryPath] = [["other"], ["scripted", "below"]]
    #expect(try await !Self.isInvalidated(by: others))
  }

  @Test(arguments: [1, 15, 16, 100])
  func aStoreThatIsBeingMadeIsInvalidatedHoweverManyOthersFollow(_ count: Int) async throws {
    let others = (0..<count).map { ["other", $0] as QueryPath }
    #expect(try await Self.isInvalidated(by: [["scripted"]] + others))
  }

  /// It is made after the invalidation has begun, of a value that was read before that was marked, and
  /// is among the client's when the invalidation is over.
  @Test func aStoreThatIsMadeDuringAnInvalidationIsInvalidatedToo() async throws {
    let query = ScriptedQuery<DecodedNumber> { _, _ in DecodedNumber(number: 2) }
      .stale(after: 1_000).persisted(as: "decoded")
    let client = QueryClient(storage: try await Self.storage(with: 1, of: query))
    let (begun, read, over) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let made = Locked<[Bool]>([])
    await runOnThreads(2) { thread in
      if thread == 0 {
        client.invalidateStores(matching: ["scripted"]) {
          begun.signal()
          read.wait()
        }
        over.signal()
      } else {
        begun.wait()
        let wait: @Sendable () -> Void = {
          read.signal()
          over.wait()
        }
        let store = DecodedNumber.$onDecode.withValue(wait) { client.store(for: query) }
        made.withLock { $0 = [store.currentValue?.number == 1, store.isInvalidated] }
      }
    }
    #expect(made.withLock { $0 } == [true, true])
  }

  @Test func manyThreadsInvalidateAndSetAtOnce() async {
    let client = QueryClient()
    let store = client.store(for: ProbeQuery().stale(after: 1_000))
    await runOnThreads(4) { thread in
      for round in 0..<500 {
        if thread % 2 == 0 { client.invalidate() } else { store.currentValue = round }
      }
    }
    store.currentValue = 1
    #expect(!store.isInvalidated)
  }
}

/// A number that calls a closure of the test's task when it is decoded.
private struct DecodedNumber: Codable, Sendable {
  @TaskLocal static var onDecode: (@Sendable () -> Void)?

  let number: Int

  init(number: Int) { self.number = number }

  init(from decoder: any Decoder) throws {
    self.number = try decoder.singleValueContainer().decode(Int.self)
    Self.onDecode?()
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(self.number)
  }
}
