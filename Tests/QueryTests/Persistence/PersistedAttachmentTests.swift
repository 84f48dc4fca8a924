import Foundation
import Query
import TestSupport
import Testing

/// What a store does if its storage cannot answer at once, or not at all. What every storage
/// promises is tested by the storage contract suite.
@Suite(.warningsAreIssues) struct PersistedAttachmentTests {
  private let base = MemoryQueryStorage()
  private let identity = QueryIdentity(canonicalText: #"["probe"]"#)

  /// Stores a 5, as an earlier launch did, or more, as another process does.
  private func storeFive(plus more: Int = 0) {
    self.base[self.identity] = StoredEntry(
      kind: "query", coder: "json", version: 1, content: .value(Data("\(5 + more)".utf8)),
      history: UpdateHistory(valueUpdateCount: 1, valueLastUpdatedAt: Date()))
  }

  // MARK: - Later

  @Test func aBusyStoragesValueComesLater() async {
    self.storeFive()
    let storage = SlowStorage(self.base, gate: Gate())
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    #expect(store.currentValue == nil)
    await storage.gate.arrival()
    #expect(store.currentValue == nil)
    storage.gate.open()
    await store.hydrated()
    #expect(store.currentValue == 5)
    #expect(storage.statistics.hits == 1)
  }

  @Test func whoeverWaitsForItGoesOnWhenItIsThereOrIsCancelled() async {
    self.storeFive()
    let storage = SlowStorage(self.base, gate: Gate())
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    let patient = Task {
      await store.hydrated()
      return store.currentValue
    }
    let cancelled = Task {
      await store.hydrated()
      return store.currentValue
    }
    cancelled.cancel()
    #expect(await cancelled.value == nil)
    storage.gate.open()
    #expect(await patient.value == 5)
  }

  @Test func aStoreThatIsReleasedMeanwhileIsNotKept() async {
    self.storeFive()
    let storage = SlowStorage(self.base, gate: Gate())
    weak let weakStore = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await storage.gate.arrival()
    #expect(weakStore == nil)
    storage.gate.open()
  }

  @Test func aFetchThatEndedMeanwhileWins() async throws {
    self.storeFive()
    let storage = SlowStorage(self.base, gate: Gate())
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    try await store.fetch()
    storage.gate.open()
    await store.hydrated()
    #expect(store.currentValue == 1)
    #expect(store.origin == .network)
    #expect(store.valueUpdateCount == 1)
  }

  @Test func aFetchThatIsUnderWayGoesOn() async throws {
    self.storeFive()
    let storage = SlowStorage(self.base, gate: Gate())
    let gate = Gate()
    let query = ProbeQuery(onFetch: { _, _ in
      try await gate.pass()
      return 2
    })
    let store = QueryClient(storage: storage).store(for: query.persisted())
    let fetch = Task { try await store.fetch() }
    await gate.arrival()
    storage.gate.open()
    await store.hydrated()
    #expect(store.currentValue == 5)
    #expect(store.isLoading)
    gate.open()
    #expect(try await fetch.value == 2)
    #expect(store.currentValue == 2)
    #expect(store.valueUpdateCount == 2)
    #expect(!store.isLoading)
  }

  @Test func aDetachedStorePutsOffSeveralFetchesAndMakesOne() async {
    let storage = SlowStorage(self.base, gate: Gate())
    var context = QueryContext()
    context.queryStorage = storage
    let fetches = Counter()
    // Neither deduplicated nor stale by age: each fetch would be a call of its own.
    let query = ProbeQuery(onFetch: { _, _ in fetches.increment() })
      .enableAutomaticFetching(onlyWhen: .always(true)).persisted()
    let store = QueryStore.detached(query: query, initialValue: nil, initialContext: context)
    let collector = EventCollector<QueryState<Int?, Int>>()
    store.subscribe(with: QueryEventHandler()).cancel()
    let subscription = store.subscribe(with: collector.handler)
    store.invalidate()
    store.invalidate()
    #expect(!store.isLoading)
    storage.gate.open()
    await store.hydrated()
    await collector.wait(for: .fetchingEnded)
    #expect(store.currentValue == 1)
    #expect(fetches.value == 1)
    #expect(collector.events.count { $0 == .fetchingStarted } == 1)
    withExtendedLifetime(subscription) {}
  }

  @Test func aSubscriptionThatEndsBeforeTheValueIsThereFetchesNothing() async {
    self.storeFive()
    let storage = SlowStorage(self.base, gate: Gate())
    let fetches = Counter()
    let query = ProbeQuery(onFetch: { _, _ in fetches.increment() })
    let store = QueryClient(storage: storage).store(for: query.persisted())
    store.subscribe(with: QueryEventHandler()).cancel()
    storage.gate.open()
    await store.hydrated()
    #expect(store.currentValue == 5)
    #expect(!store.isLoading)
    #expect(store.error == nil && store.errorUpdateCount == 0)
    #expect(fetches.value == 0)
  }

  // MARK: - From another process

  private func entry(_ value: String) -> StoredEntry {
    StoredEntry(
      kind: "query", coder: "json", version: 1, content: .value(Data(value.utf8)),
      history: UpdateHistory(valueUpdateCount: 3, valueLastUpdatedAt: Date()))
  }

  /// The value of an automatic fetch would be a change of the store's own.
  private func storeThatFetchesNothing() -> QueryStore<QueryState<Int?, Int>> {
    let query = ProbeQuery().disableAutomaticFetching().persisted()
    return QueryClient(storage: self.base).store(for: query)
  }

  @Test func aHandlerThatBlocksDoesNotKeepTheStorage() async throws {
    let store = self.storeThatFetchesNothing()
    let (values, canReturn) = (Recorder<Int?>(), DispatchSemaphore(value: 0))
    let subscription = store.subscribe(
      with: QueryEventHandler(
        onStateChanged: { state, _ in
          values.append(state.currentValue)
          if state.currentValue == 6 { canReturn.wait() }
        }))
    let slot = try #require(self.base.slots.existingSlot(for: self.identity))
    slot.takeOver(self.entry("6"))
    await values.wait { $0.contains(6) }
    // Both return, although the handler does not.
    slot.takeOver(self.entry("7"))
    slot.takeOver(self.entry("8"))
    canReturn.signal()
    await values.wait { $0.contains(8) }
    #expect(!values.elements.contains(7), "only the newest is of use")
    withExtendedLifetime(subscription) {}
  }

  @Test func aChangeMadeMeanwhileWins() async throws {
    let store = self.storeThatFetchesNothing()
    let slot = try #require(self.base.slots.existingSlot(for: self.identity))
    let values = Recorder<Int?>()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in values.append(state.currentValue) }))
    // The store is busy while the entry comes, and changes before it can take it.
    store.withExclusiveAccess { store in
      slot.takeOver(self.entry("6"))
      store.currentValue = 1
    }
    try await self.base.flush()
    slot.takeOver(self.entry("9"))
    await values.wait { $0.contains(9) }
    #expect(!values.elements.contains(6))
    withExtendedLifetime(subscription) {}
  }

  /// What another process writes beside it changes nothing of what the fetch will bring.
  @Test func anInvalidationThatIsKnownIsNotFetchedForTwice() async throws {
    let (gate, fetches) = (Gate(), Counter())
    let query = ProbeQuery(onFetch: { _, _ in
      fetches.increment()
      try await gate.pass()
      return 2
    })
    self.storeFive()
    let store = QueryClient(storage: self.base)
      .store(for: query.stale(after: 3_600).persisted())
    let values = Recorder<Int?>()
    let subscription = store.subscribe(
      with: QueryEventHandler(onStateChanged: { state, _ in values.append(state.currentValue) }))
    let slot = try #require(self.base.slots.existingSlot(for: self.identity))
    let instant = ContinuousClock.now
    func takeOver(_ value: Int) async {
      var entry = self.entry("\(value)")
      entry.history.isInvalidated = true
      entry.history.invalidatedAt = instant
      slot.takeOver(entry)
      await values.wait { $0.contains(value) }
    }
    await takeOver(6)
    await gate.arrival()
    await takeOver(7)
    gate.letOneThrough()
    await values.wait { $0.contains(2) }
    #expect(!store.isInvalidated)
    #expect(fetches.value == 1)
    withExtendedLifetime(subscription) {}
  }

  // MARK: - What could not be read

  @Test func anErrorAloneDoesNotTakeThePlaceOfWhatCouldNotBeRead() async throws {
    self.storeFive()
    let failure = StorageError(operation: "read", code: .busy, message: "busy")
    let misses: [StorageMiss] = [.failed(failure), .collision, .expired]
    for miss in misses {
      let storage = SlowStorage(self.base, answer: .miss(miss))
      let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
      await store.hydrated()
      #expect(store.currentValue == nil)
      store.setResult(to: .failure(TestError()))
      store.invalidate()
      try await storage.flush()
      #expect(self.base[self.identity]?.content == .value(Data("5".utf8)), "\(miss)")
      #expect(self.base[self.identity]?.history.error == nil, "\(miss)")
    }
    let storage = SlowStorage(self.base, answer: .miss(.failed(failure)))
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    try await store.fetch()
    try await storage.flush()
    #expect(self.base[self.identity]?.content == .value(Data("1".utf8)), "a value does")
  }

  /// What a store that came before has to say of an older value is said beside it.
  @Test func aValueOfAnotherProcessIsReadBesideWhatWaits() async {
    self.storeFive()
    let storage = SlowStorage(self.base, isWriting: false)
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await store.hydrated()
    store.setResult(to: .failure(TestError()))
    store.invalidate()
    self.storeFive(plus: 1)
    let next = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await next.hydrated()
    #expect(next.currentValue == 6)
    #expect(next.isInvalidated)
  }

  /// No storage has had it: what waits is written with it.
  @Test func aValueThatWasNeverStoredIsShownWithWhatWaits() async throws {
    let storage = SlowStorage(self.base, isWriting: false)
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await store.hydrated()
    store.currentValue = 7
    // As if another process had removed what was written.
    try #require(self.base.slots.existingSlot(for: self.identity)).dropChange()
    store.setResult(to: .failure(TestError()))
    let next = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await next.hydrated()
    #expect(next.currentValue == 7)
    #expect(next.error != nil)
  }

  /// As if it had been stored before: how fast it is written makes no difference.
  @Test func noFailureBringsAValueBackThatWasRemovedBeforeItWasWritten() async throws {
    let storage = SlowStorage(self.base, isWriting: false)
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await store.hydrated()
    store.currentValue = 7
    let other = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await other.hydrated()
    #expect(other.currentValue == 7)
    other.reset()
    let slot = try #require(self.base.slots.existingSlot(for: self.identity))
    self.base.write(slot)
    try await self.base.flush()
    store.setResult(to: .failure(TestError()))
    store.invalidate()
    let next = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await next.hydrated()
    #expect(next.currentValue == nil)
    self.base.write(slot)
    try await self.base.flush()
    #expect(self.base[self.identity] == nil)
  }

  /// The value is still stored, but about to be removed.
  @Test func anErrorThatWaitsInThePlaceOfARemovalIsShownAlone() async {
    self.storeFive()
    let storage = SlowStorage(self.base, isWriting: false)
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await store.hydrated()
    #expect(store.currentValue == 5)
    store.reset()
    store.setResult(to: .failure(TestError()))
    let next = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await next.hydrated()
    #expect(next.currentValue == nil)
    #expect(next.error != nil)
  }

  @Test func eachMissIsReportedOnce() async throws {
    let failure = StorageError(operation: "read", code: .busy, message: "busy")
    let storage = SlowStorage(self.base, answer: .miss(.failed(failure)))
    var events = storage.events.makeAsyncIterator()
    let store = QueryClient(storage: storage).store(for: ProbeQuery().persisted())
    await store.hydrated()
    store.currentValue = 1
    #expect(await events.next() == .missed(self.identity, .failed(failure)))
    #expect(await events.next() == .committed(entries: 1))
    #expect(storage.statistics.misses == 1)
  }
}
