import Foundation
import Query
import TestSupport
import Testing

/// What another process stores while a fetch is under way.
@Suite(.warningsAreIssues) struct TakeOverTests {
  private static let identity = QueryIdentity(canonicalText: #"["probe"]"#)
  private let base = MemoryQueryStorage()
  private let gate = Gate()
  private let fetches = Counter()
  private let values = Recorder<Int?>()
  private let store: QueryStore<QueryState<Int?, Int>>

  init() {
    self.base[Self.identity] = Self.entry(5)
    let (gate, fetches) = (self.gate, self.fetches)
    let query = ProbeQuery(onFetch: { _, _ in
      fetches.increment()
      try await gate.pass()
      return 2
    })
    self.store = QueryClient(storage: self.base)
      .store(for: query.stale(after: 3_600).persisted())
  }

  private static func entry(
    _ value: Int, isInvalidated: Bool = false, at instant: ContinuousClock.Instant? = nil
  ) -> StoredEntry {
    var history = UpdateHistory(
      valueUpdateCount: 1, valueLastUpdatedAt: Date(), isInvalidated: isInvalidated)
    history.invalidatedAt = instant
    return StoredEntry(
      kind: "query", coder: "json", version: 1, content: .value(Data("\(value)".utf8)),
      history: history)
  }

  /// Takes a 6 over that was invalidated at a time, or was asked for after that, while a fetch is under way, and
  /// returns when that has brought its 2.
  private func takeOver(isInvalidated: Bool, beforeTheFetch: Bool) async throws {
    let subscription = self.store.subscribe { [values] in values.append($0.currentValue) }
    defer { subscription.cancel() }
    let before = ContinuousClock.now
    let fetch = Task { [store] in try await store.fetch() }
    await self.gate.arrival()
    let slot = try #require(self.base.slots.existingSlot(for: Self.identity))
    let instant = beforeTheFetch ? before - .microseconds(1) : .now
    slot.takeOver(Self.entry(6, isInvalidated: isInvalidated, at: instant))
    await self.values.wait { $0.contains(6) }
    // It has a subscriber, and what was invalidated after the fetch began is to be fetched again.
    if isInvalidated, !beforeTheFetch { await self.gate.arrival(2) }
    self.gate.letOneThrough()
    _ = try await fetch.value
  }

  /// As if it had been invalidated here.
  @Test func aFetchFromBeforeAnInvalidationReplacesNoNewerAnswer() async throws {
    try await self.takeOver(isInvalidated: false, beforeTheFetch: false)
    #expect(self.store.currentValue == 6)
    #expect(!self.store.isInvalidated)
    #expect(self.fetches.value == 1)
  }

  @Test func aFetchFromBeforeAnInvalidationDoesNotEndIt() async throws {
    try await self.takeOver(isInvalidated: true, beforeTheFetch: false)
    #expect(self.store.currentValue == 2)
    #expect(self.store.isInvalidated)
    #expect(self.fetches.value == 2)
  }

  /// Though the store learns of that while the fetch is under way.
  @Test(arguments: [false, true])
  func aFetchFromAfterAnInvalidationAnswersIt(_ isInvalidated: Bool) async throws {
    try await self.takeOver(isInvalidated: isInvalidated, beforeTheFetch: true)
    #expect(self.store.currentValue == 2)
    #expect(!self.store.isInvalidated)
    #expect(self.fetches.value == 1)
  }

  /// Nor one of what is read late.
  @Test func aFetchFromBeforeALateReadingReplacesNoNewerAnswer() async throws {
    let (fetching, reading) = (Gate(), Gate())
    let storage = SlowStorage(self.base, gate: reading)
    let query = ProbeQuery(onFetch: { _, _ in
      try await fetching.pass()
      return 2
    })
    let store = QueryClient(storage: storage).store(for: query.persisted())
    let fetch = Task { try await store.fetch() }
    await fetching.arrival()
    self.base[Self.identity] = Self.entry(6, at: .now)
    reading.open()
    await store.hydrated()
    fetching.open()
    _ = try await fetch.value
    #expect(store.currentValue == 6)
    #expect(!store.isInvalidated)
  }
}
