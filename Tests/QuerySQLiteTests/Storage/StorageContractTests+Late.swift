import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - Large values, which come late
//
// What is decoded late waits at a door of its coder, so that a test says what happens before. Between
// the making of such a store and the opening of the door no test waits for anything: the door keeps
// one of the few threads that all tasks share.

extension StorageContractTests {
  private typealias Store = QueryStore<QueryState<String?, String>>

  private static let large = String(repeating: "large ", count: 100)

  /// A device with a stored value that is too large to be decoded at once.
  private func device(_ kind: StorageUnderTest, isInvalidated: Bool = false) async throws -> Device
  {
    var settings = Device.Settings()
    settings.synchronousHydrationLimit = 100
    let device = try Device(kind, settings)
    try await device.run { client in
      let store = client.store(for: StoredQuery { "" }.persisted())
      store.currentValue = Self.large
      if isInvalidated { store.invalidate() }
    }
    return device
  }

  /// Makes a store, does something before its value is there, and returns when it is.
  private func store(
    on device: Device,
    for query: StoredQuery<String> = StoredQuery { "fetched" },
    before: (Store) -> Void
  ) async -> Store {
    let door = Door()
    let options = PersistenceOptions(coder: GatedCoder(decoding: door))
    let store = device.client().store(for: query.stale(after: 60).persisted(options))
    before(store)
    door.open()
    await store.hydrated()
    return store
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aLargeValueComesLateAndTheStoreTellsWhen(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let collector = EventCollector<QueryState<String?, String>>()
    let query = StoredQuery { "fetched" }
    var subscription = QuerySubscription.empty
    let store = await self.store(on: device, for: query) { store in
      #expect(store.currentValue == nil)
      #expect(store.origin == .initial)
      subscription = store.subscribe(with: collector.handler)
    }
    #expect(store.currentValue == Self.large)
    #expect(store.valueUpdateCount == 1)
    let date = try #require(store.valueLastUpdatedAt)
    #expect(store.origin == .storage(storedAt: date))
    #expect(!store.isLoading)
    #expect(query.calls.value == 0)
    #expect(collector.states.map(\.currentValue) == [nil, Self.large])
    #expect(collector.states.map(\.isLoading) == [false, false])
    await store.hydrated()
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theAutomaticFetchWaitsForIt(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let query = StoredQuery { "fetched" }
    device.clock.advance(by: 61)
    let collector = EventCollector<QueryState<String?, String>>()
    var subscriptions = [QuerySubscription]()
    let store = await self.store(on: device, for: query) { store in
      subscriptions.append(store.subscribe(with: QueryEventHandler()))
      subscriptions.removeLast().cancel()
      subscriptions.append(store.subscribe(with: collector.handler))
      subscriptions.append(store.subscribe(with: QueryEventHandler()))
      #expect(!store.isLoading)
    }
    await collector.wait(for: .fetchingEnded)
    #expect(store.currentValue == "fetched")
    #expect(query.calls.value == 1)
    #expect(
      collector.states.map(\.currentValue) == [nil, Self.large, Self.large, "fetched"])
    withExtendedLifetime(subscriptions) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func nobodyWhoLeftMeanwhileIsFetchedFor(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind, isInvalidated: true)
    let query = StoredQuery { "fetched" }
    let store = await self.store(on: device, for: query) { store in
      store.subscribe(with: QueryEventHandler()).cancel()
    }
    #expect(store.isStale)
    #expect(!store.isLoading)
    #expect(query.calls.value == 0)
  }

  @Test(arguments: StorageUnderTest.allCases, [true, false])
  func nobodyIsFetchedForAfterACancellationMeanwhile(
    _ kind: StorageUnderTest, isReset: Bool
  ) async throws {
    let device = try await self.device(kind, isInvalidated: true)
    let query = StoredQuery { "fetched" }
    var subscription = QuerySubscription.empty
    let store = await self.store(on: device, for: query) { store in
      subscription = store.subscribe(with: QueryEventHandler())
      if isReset { store.reset() } else { store.cancelFetches() }
    }
    #expect(store.currentValue == (isReset ? nil : Self.large))
    #expect(!store.isLoading)
    #expect(query.calls.value == 0)
    subscription.cancel()
  }

  @Test(
    arguments: StorageUnderTest.allCases,
    [(true, true), (true, false), (false, true), (false, false)])
  func aCallWhoseStoreIsCancelledMeanwhileFetchesNothing(
    _ kind: StorageUnderTest, _ call: (isReset: Bool, isPrefetch: Bool)
  ) async throws {
    let (isReset, isPrefetch) = call
    let device = try await self.device(kind, isInvalidated: true)
    let query = StoredQuery { "fetched" }
    let door = Door()
    let options = PersistenceOptions(coder: GatedCoder(decoding: door))
    let client = device.client()
    let request = query.persisted(options)
    let store = client.store(for: request)
    let fetching = Task.immediate {
      if isPrefetch {
        await client.prefetch(request)
      } else {
        _ = try? await client.ensureValue(for: request)
      }
    }
    if isReset { store.reset() } else { store.cancelFetches() }
    store.currentValue = "set"
    door.open()
    await fetching.value
    #expect(store.currentValue == "set")
    #expect(store.error == nil)
    #expect(query.calls.value == 0)
  }

  /// Or its answer would be written behind the reset.
  @Test(arguments: StorageUnderTest.allCases, [true, false])
  func aCallIsResetWhoseStoreTheClientDoesNotKeep(
    _ kind: StorageUnderTest, isPrefetch: Bool
  ) async throws {
    let device = try await self.device(kind, isInvalidated: true)
    let query = StoredQuery { "fetched" }
    let door = Door()
    let options = PersistenceOptions(coder: GatedCoder(decoding: door))
    // No store stays that is not used.
    let client = QueryClient(
      defaultContext: device.context,
      storeCache: QueryClient.DefaultStoreCache(maxUnusedStores: 0, memoryPressureSource: nil))
    let call = Task.immediate {
      if isPrefetch {
        await client.prefetch(query.persisted(options))
      } else {
        _ = try? await client.ensureValue(for: query.persisted(options))
      }
    }
    #expect(client.stores(matching: []).isEmpty)
    client.reset()
    door.open()
    await call.value
    #expect(query.calls.value == 0)
  }

  @Test(arguments: StorageUnderTest.allCases, [true, false])
  func aCallerWhoIsCancelledMeanwhileFetchesNothing(
    _ kind: StorageUnderTest, isPrefetch: Bool
  ) async throws {
    let device = try await self.device(kind)
    let query = StoredQuery { "fetched" }
    let door = Door()
    let options = PersistenceOptions(coder: GatedCoder(decoding: door))
    let client = device.client()
    let request = query.stale(after: 60).persisted(options)
    let store = client.store(for: request)
    // Runs as far as it can without another thread: the door keeps one.
    let call = Task.immediate {
      withUnsafeCurrentTask { $0?.cancel() }
      if isPrefetch {
        await client.prefetch(request)
      } else {
        _ = try? await client.ensureValue(for: request)
      }
    }
    door.open()
    await call.value
    await store.hydrated()
    #expect(store.currentValue == Self.large)
    #expect(store.error == nil)
    #expect(query.calls.value == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatIsSetBesideOneThatCannotBeReadStays(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let door = Door()
    let options = PersistenceOptions(coder: UnreadableCoder(base: GatedCoder(decoding: door)))
    let store = device.client().store(for: StoredQuery { "" }.stale(after: 60).persisted(options))
    store.currentValue = "set"
    door.open()
    await store.hydrated()
    #expect(store.currentValue == "set")
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery { "" }.persisted()).currentValue == "set")
  }

  @Test(arguments: StorageUnderTest.allCases)
  func itNeverReplacesANewerValue(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let store = await self.store(on: device) { $0.currentValue = "newer" }
    #expect(store.currentValue == "newer")
    #expect(store.origin == .local)
    try await device.relaunch()
    #expect(
      device.client().store(for: StoredQuery { "" }.persisted()).currentValue == "newer")
  }

  @Test(arguments: StorageUnderTest.allCases)
  func itNeverUndoesAReset(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let store = await self.store(on: device) { $0.reset() }
    #expect(store.currentValue == nil)
    #expect(store.origin == .initial)
    try await device.relaunch()
    #expect(device.storage.statistics.entries == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anErrorThatCameMeanwhileStaysOnTop(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    device.clock.advance(by: 5)
    let date = device.clock.now()
    let store = await self.store(on: device) {
      $0.setResult(to: .failure(TestError("early")))
      $0.setResult(to: .failure(TestError("late")))
    }
    #expect(store.currentValue == Self.large)
    #expect(store.error as? TestError == TestError("late"))
    #expect(store.errorLastUpdatedAt == date)
    #expect(store.valueUpdateCount == 1)
    #expect(store.errorUpdateCount == 2)
    #expect(try #require(store.valueLastUpdatedAt) < date)
    try await device.relaunch()
    let restored = device.client().store(for: StoredQuery { "" }.persisted())
    await restored.hydrated()
    #expect(restored.currentValue == Self.large)
    #expect(restored.error as? RestoredError == RestoredError(TestError("late")))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anInvalidationThatCameMeanwhileStaysOnTop(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let store = await self.store(on: device) { $0.invalidate() }
    #expect(store.currentValue == Self.large)
    #expect(store.isInvalidated)
    try await device.relaunch()
    let restored = device.client().store(for: StoredQuery { "" }.persisted())
    await restored.hydrated()
    #expect(restored.currentValue == Self.large)
    #expect(restored.isInvalidated)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anErasureMeanwhileIsNotUndone(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let door = Door()
    let options = PersistenceOptions(coder: GatedCoder(decoding: door))
    let store = device.client().store(for: StoredQuery { "" }.persisted(options))
    let storage = device.storage
    async let erasing: Void = storage.erase()
    door.open()
    try await erasing
    await store.hydrated()
    #expect(store.currentValue == nil)
    #expect(store.origin == .initial)
    try await device.relaunch()
    #expect(device.storage.statistics.entries == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aLargeValueThatDoesNotDecodeIsQuarantined(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let options = PersistenceOptions(coder: FailingCoder(failsToDecode: true))
    let query = StoredQuery { "fetched" }
    let store = device.client().store(for: query.persisted(options))
    let collector = EventCollector<QueryState<String?, String>>()
    let subscription = store.subscribe(with: collector.handler)
    await store.hydrated()
    await collector.wait(for: .fetchingEnded)
    #expect(store.currentValue == "fetched")
    #expect(query.calls.value == 1)
    try await device.storage.flush()
    #expect(device.storage.statistics.quarantined == 1)
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aLargeValueThatIsNotWrittenYetIsHandedOverUncoded(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    // Keeps the writer busy, so that the change below waits.
    let coder = GatedCoder(encoding: Door())
    let busy = StoredQuery(["busy"]) { "" }.persisted(PersistenceOptions(coder: coder))
    let keeper = device.client().store(for: busy)
    keeper.currentValue = "busy"
    await coder.encoded.wait(forCount: 1)
    let failing = FailingCoder(failsToDecode: true)
    let query = StoredQuery(["changed"]) { "" }.persisted(PersistenceOptions(coder: failing))
    device.client().store(for: query).currentValue = Self.large
    let store = device.client().store(for: query)
    #expect(store.currentValue == Self.large)
    #expect(store.valueUpdateCount == 1)
    let date = try #require(store.valueLastUpdatedAt)
    #expect(store.origin == .storage(storedAt: date))
    // A mark that comes meanwhile is handed over, too.
    device.client().invalidate(matching: ["changed"])
    #expect(device.client().store(for: query).isInvalidated)
    coder.encoding.open()
    try await device.relaunch()
    let next = device.client().store(for: StoredQuery(["changed"]) { "" }.persisted())
    await next.hydrated()
    #expect(next.currentValue == Self.large)
    #expect(next.isInvalidated)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aLargeValueThatIsBeingWrittenComesLate(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    // Coded under another version, so that it has to be decoded to be read.
    let old = StoredQuery(["changed"]) { "" }.persisted(PersistenceOptions(version: 1))
    let busy = GatedCoder(encoding: Door())
    let keeper = device.client().store(
      for: StoredQuery(["busy"]) { "" }.persisted(PersistenceOptions(coder: busy)))
    keeper.currentValue = "busy"
    await busy.encoded.wait(forCount: 1)
    device.client().store(for: old).currentValue = Self.large
    let door = Door()
    let options = PersistenceOptions(
      version: 2, coder: GatedCoder(decoding: door), upgrade: { data, _ in data })
    let store = device.client().store(for: StoredQuery(["changed"]) { "" }.persisted(options))
    #expect(store.currentValue == nil)
    door.open()
    busy.encoding.open()
    await store.hydrated()
    #expect(store.currentValue == Self.large)
  }

  /// A device with five stored pages, and a store of them that has them once the door is open.
  func latePages(
    _ kind: StorageUnderTest
  ) async throws -> (Device, QueryStore<InfiniteQueryState<Int, String>>, Door) {
    var settings = Device.Settings()
    settings.synchronousHydrationLimit = 20
    let device = try Device(kind, settings)
    try await device.run { client in
      let store = client.store(for: StoredPages().persisted())
      for _ in 0..<5 { try await store.fetchNextPage() }
    }
    let door = Door()
    let options = PersistenceOptions(coder: GatedCoder(decoding: door))
    return (device, device.client().store(for: StoredPages().persisted(options)), door)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aLargeListOfPagesComesLateToo(_ kind: StorageUnderTest) async throws {
    let (_, store, door) = try await self.latePages(kind)
    #expect(store.currentValue == [])
    door.open()
    await store.hydrated()
    #expect(store.currentValue == textPages(0...4))
    #expect(store.nextPageId == 5)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aStoreWithNothingLateIsHydratedAtOnce(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    await device.client().store(for: StoredQuery.one.persisted()).hydrated()
    await device.client().store(for: StoredQuery.one).hydrated()
    await QueryStore.detached(query: StoredQuery.one, initialValue: nil).hydrated()
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    await device.client().store(for: StoredQuery.one.persisted()).hydrated()
  }

  // MARK: - Prefetching

  @Test(arguments: StorageUnderTest.allCases)
  func whatWasPrefetchedIsWhatStoresShow(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      for id in 0..<20 {
        client.store(for: StoredQuery(["n", id]) { 0 }.persisted()).currentValue = id
      }
      try await client.store(for: StoredPages(["n", "pages"]).persisted()).fetchNextPage()
    }
    try await device.storage.prefetch(matching: ["n"])
    try await device.storage.prefetch(matching: ["nothing"])
    try await device.storage.prefetch(matching: [])
    do {
      let client = device.client()
      for id in 0..<20 {
        let store = client.store(for: StoredQuery(["n", id]) { 0 }.persisted())
        #expect(store.currentValue == id)
        store.currentValue = id + 100
      }
      let pages = client.store(for: StoredPages(["n", "pages"]).persisted())
      #expect(pages.currentValue == textPages(0...0))
    }
    // What was read before a change is not what is shown after it.
    try await device.storage.flush()
    let next = device.client()
    for id in 0..<20 {
      let store = next.store(for: StoredQuery(["n", id]) { 0 }.persisted())
      #expect(store.currentValue == id + 100)
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aPrefetchedEntryThatWasErasedOrRemovedIsGone(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery(["a"]) { 0 }.persisted()).currentValue = 1
      client.store(for: StoredQuery(["b"]) { 0 }.persisted()).currentValue = 2
      client.store(for: StoredQuery(["c"]) { 0 }.persisted()).currentValue = 3
    }
    try await device.storage.prefetch(matching: [])
    device.client().store(for: StoredQuery(["a"]) { 0 }.persisted()).reset()
    device.client().invalidate(matching: ["b"])
    try await device.storage.flush()
    let client = device.client()
    #expect(client.store(for: StoredQuery(["a"]) { 0 }.persisted()).currentValue == nil)
    #expect(client.store(for: StoredQuery(["b"]) { 0 }.persisted()).isInvalidated)
    try await device.storage.erase()
    #expect(device.client().store(for: StoredQuery(["c"]) { 0 }.persisted()).currentValue == nil)
  }
}

/// Decodes nothing that is large.
private struct UnreadableCoder: QueryCoder {
  let base: GatedCoder

  var name: String { self.base.name }

  func encode<T: Encodable>(_ value: T) throws -> Data { try self.base.encode(value) }

  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    let value = try self.base.decode(type, from: data)
    // What the test sets may be written by the time that the stored value is read.
    if data.count > 100 { throw TestError("unreadable") }
    return value
  }
}
