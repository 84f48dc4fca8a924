import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

/// What every storage promises to users of stores: one body for all of them. Each section of the
/// promise is an extension in a file of its own.
@Suite(.warningsAreIssues) struct StorageContractTests {}

// MARK: - Where it is switched on

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aQueryThatIsNotPersistedIsForgotten(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      try await client.store(for: StoredQuery.one).fetch()
    }
    #expect(device.client().store(for: StoredQuery.one).currentValue == nil)
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == nil)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func itMayStandAnywhereInAChain(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let innermost = StoredQuery(["in"]) { 1 }.persisted().retry(limit: 1).stale(after: 60)
      let outermost = StoredQuery(["out"]) { 2 }.deduplicated().stale(after: 60).persisted()
      let middle = StoredQuery(["mid"]) { 3 }.stale(after: 60).persisted().deduplicated()
      try await client.store(for: innermost).fetch()
      try await client.store(for: outermost).fetch()
      try await client.store(for: middle).fetch()
    }
    let client = device.client()
    #expect(client.store(for: StoredQuery(["in"]) { 0 }.persisted()).currentValue == 1)
    #expect(client.store(for: StoredQuery(["out"]) { 0 }.persisted()).currentValue == 2)
    #expect(client.store(for: StoredQuery(["mid"]) { 0 }.persisted()).currentValue == 3)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func itChangesNeitherThePathNorTheIdentity(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let query = StoredQuery(["players", 3]) { 1 }
    #expect(query.persisted().path == query.path)
    try await device.run { client in try await client.store(for: query.persisted()).fetch() }
    let options = PersistenceOptions(identity: QueryIdentity(canonicalText: #"["players",3]"#))
    let byText = device.client().store(for: StoredQuery(["other"]) { 0 }.persisted(options))
    #expect(byText.currentValue == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theInnermostOptionsWin(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let outer = PersistenceOptions(identity: QueryIdentity(canonicalText: "outer"))
    let inner = PersistenceOptions(identity: QueryIdentity(canonicalText: "inner"))
    let query = StoredQuery.one.persisted(inner).persisted(outer)
    try await device.run { client in try await client.store(for: query).fetch() }
    let client = device.client()
    #expect(client.store(for: StoredQuery(["a"]) { 0 }.persisted(inner)).currentValue == 1)
    #expect(client.store(for: StoredQuery(["b"]) { 0 }.persisted(outer)).currentValue == nil)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aDetachedStoreIsPersistedByTheStorageInItsContext(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    func store() -> QueryStore<QueryState<Int?, Int>> {
      .detached(
        query: StoredQuery.one.persisted(), initialValue: nil, initialContext: device.context)
    }
    try await store().fetch()
    try await device.relaunch()
    #expect(store().currentValue == 1)
  }

  @Test func withoutAStorageThereIsOneWarningForAllQueries() async throws {
    PersistenceWarnings.forget("no storage")
    let query = StoredQuery { 3 }
    try await withExpectedWarnings([.noStorage(query: query._debugTypeName)]) {
      let client = QueryClient()
      let store = client.store(for: query.persisted())
      let fetched = try await store.fetch()
      #expect(fetched == 3)
      store.invalidate()
      store.reset()
      #expect(store.origin == .initial)
      await store.hydrated()
      client.invalidate()
      let pages = client.store(for: StoredPages().persisted())
      try await pages.fetchNextPage()
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aClientsDefaultContextKeepsWhatElseIsInIt(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    #expect(client.defaultContext.queryStorage != nil)
    #expect(client.defaultContext.queryClock.now() == device.clock.now())
    #expect(QueryContext().queryStorage == nil)
    #expect(QueryClient().defaultContext.queryStorage == nil)
  }

  // MARK: - Statistics and events

  @Test(arguments: StorageUnderTest.allCases)
  func statisticsCountWhatHappened(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let before = device.storage.statistics
    #expect(before.entries == 0)
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(device.storage.statistics.misses == before.misses + 1)
    try await store.fetch()
    try await device.storage.flush()
    let after = device.storage.statistics
    #expect(after.entries == 1)
    #expect(after.bytes > 0)
    #expect(after.writes == before.writes + 1)
    #expect(after.commits > before.commits)
    #expect(!after.isDegraded)
    _ = device.client().store(for: StoredQuery.one.persisted())
    #expect(device.storage.statistics.hits == before.hits + 1)
    // The same value once more, and what is only written beside it.
    device.clock.advance(by: 60)
    for change in [{ try await store.fetch() }, { store.invalidate() }] as [() async throws -> Void]
    {
      let counts = device.storage.statistics
      try await change()
      try await device.storage.flush()
      let changed = device.storage.statistics
      #expect(changed.writes == counts.writes + 1)
      #expect(changed.commits == counts.commits + 1)
      #expect((changed.entries, changed.bytes) == (after.entries, after.bytes))
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whoeverListensGetsItsOwnStreamOfEvents(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    var first = device.storage.events.makeAsyncIterator()
    var second = device.storage.events.makeAsyncIterator()
    let store = device.client().store(for: StoredQuery.one.persisted())
    store.currentValue = 1
    try await device.storage.flush()
    let identity = try QueryIdentity(path: ["stored"])
    #expect(await first.next() == .missed(identity, .absent))
    #expect(await second.next() == .missed(identity, .absent))
    #expect(await first.next() == .committed(entries: 1))
    #expect(await second.next() == .committed(entries: 1))
  }

  // MARK: - Closing

  @Test(arguments: StorageUnderTest.allCases)
  func aClosedStorageThrowsAndNeverCrashes(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let storage = device.storage
    let store = device.client().store(for: StoredQuery.one.persisted())
    store.currentValue = 1
    try await storage.close()
    await #expect(throws: StorageError.self) { try await storage.flush() }
    await #expect(throws: StorageError.self) { try await storage.erase() }
    await #expect(throws: StorageError.self) { try await storage.prefetch(matching: []) }
    store.currentValue = 2
    store.reset()
    store.invalidate()
    storage.invalidate(matching: [])
    #expect(try await store.fetch() == 1)
    _ = storage.statistics
    _ = storage.events
    let later = device.client().store(for: StoredQuery(["later"]) { 5 }.persisted())
    #expect(try await later.fetch() == 5)
  }

  @Test(arguments: StorageUnderTest.onDisk)
  func whatWasHandedOverBeforeClosingIsThereAfterwards(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let stores = (0..<100).map { client.store(for: StoredQuery(["n", $0]) { 0 }.persisted()) }
    for (index, store) in stores.enumerated() { store.currentValue = index }
    try await device.relaunch()
    let next = device.client()
    for index in 0..<100 {
      #expect(next.store(for: StoredQuery(["n", index]) { 0 }.persisted()).currentValue == index)
    }
  }
}
