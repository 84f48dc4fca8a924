import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - Invalidation

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func anInvalidationSurvivesARestart(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let query = StoredQuery.one.stale(after: 1_000).persisted()
    try await device.run { client in client.store(for: query).currentValue = 5 }
    try await device.run { client in client.store(for: query).invalidate() }
    let store = device.client().store(for: query)
    #expect(store.currentValue == 5)
    #expect(store.isInvalidated)
    #expect(store.isStale)
    try await store.fetch()
    #expect(!store.isInvalidated)
    try await device.relaunch()
    let fresh = device.client().store(for: query)
    #expect(!fresh.isInvalidated)
    #expect(!fresh.isStale)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aFailureDoesNotTakeAnInvalidationBack(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.failing.persisted())
      store.currentValue = 5
      store.invalidate()
      await #expect(throws: TestError.self) { try await store.fetch() }
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.isInvalidated)
    #expect(store.currentValue == 5)
    #expect(store.error is RestoredError)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aClientInvalidatesWhatHasNoStoreAtTheMoment(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    func query(_ path: QueryPath) -> some QueryRequest<Int, QueryState<Int?, Int>> {
      StoredQuery(path) { 1 }.stale(after: 1_000).persisted()
    }
    let under: [QueryPath] = [
      ["players"], ["players", 1], ["players", 1, "x"], ["players", "1"],
    ]
    let beside: [QueryPath] = [[], ["player"], ["players2"], ["playersx", 1], [["players"]]]
    try await device.run { client in
      for path in under + beside { client.store(for: query(path)).currentValue = 5 }
    }
    try await device.run { client in
      // One store lives, the others do not.
      let living = client.store(for: query(["players", 1]))
      client.invalidate(matching: ["players"])
      #expect(living.isInvalidated)
    }
    let client = device.client()
    for path in under {
      let store = client.store(for: query(path))
      #expect(store.isInvalidated, "\(path)")
      #expect(store.isStale, "\(path)")
      #expect(store.currentValue == 5, "\(path)")
    }
    for path in beside { #expect(!client.store(for: query(path)).isInvalidated, "\(path)") }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theEmptyPathInvalidatesEverything(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let paths: [QueryPath] = [[], ["a"], ["b", 2]]
    try await device.run { client in
      for path in paths { client.store(for: StoredQuery(path) { 1 }.persisted()).currentValue = 5 }
      try await client.store(for: StoredPages().persisted()).fetchNextPage()
    }
    try await device.run { client in client.invalidate() }
    let client = device.client()
    for path in paths {
      #expect(client.store(for: StoredQuery(path) { 1 }.persisted()).isInvalidated, "\(path)")
    }
    let pages = client.store(for: StoredPages().persisted())
    #expect(pages.isInvalidated)
    #expect(pages.currentValue == textPages(0...0))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aStoreThatIsMadeRightAfterAnInvalidationIsInvalidated(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    let client = device.client()
    client.invalidate(matching: ["stored"])
    #expect(client.store(for: StoredQuery.one.persisted()).isInvalidated)
  }

  /// A store whose value is being coded until the coder's door opens: changes of other stores wait behind it.
  func busyStore(
    on device: Device, _ coder: GatedCoder
  ) async -> QueryStore<QueryState<Int?, Int>> {
    let busy = StoredQuery(["busy"]) { 1 }.persisted(PersistenceOptions(coder: coder))
    let store = device.client().store(for: busy)
    store.currentValue = 0
    await coder.encoded.wait(forCount: 1)
    return store
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aChangeThatWaitsOfAStoreThatIsGoneIsInvalidatedToo(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let coder = GatedCoder(encoding: Door())
    let keeper = await self.busyStore(on: device, coder)
    defer { withExtendedLifetime(keeper) {} }
    device.client().store(for: StoredQuery.one.persisted()).currentValue = 5
    device.client().invalidate(matching: ["stored"])
    coder.encoding.open()
    try await device.relaunch()
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 5)
    #expect(store.isInvalidated)
  }

  /// It was fetched before a mutation whose edit it lacks, and is not written when the outbox forgets that.
  @Test(arguments: StorageUnderTest.allCases)
  func aValueThatWaitsToBeWrittenIsInvalidatedIfItLacksAForgottenEdit(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let coder = GatedCoder(encoding: Door())
    let keeper = await self.busyStore(on: device, coder)
    let list = StoredQuery(["list"]) { 1 }.persisted()
    try await device.client().store(for: list).fetch()
    let add = BlockMutation(["add"]) { (number: Int, _) -> Int in number }
      .persisted(as: "add")
      .optimistic(on: { _ in list }, { sum, number, _ in sum = (sum ?? 0) + number })
    // Of a client that does not show the value.
    let client = device.client()
    let store = client.store(for: add)
    try await store.mutate(with: 2)
    try await store.mutate(with: 3)
    store.reset()
    while !device.client().store(for: add).history.isEmpty { await Task.yield() }
    coder.encoding.open()
    try await device.storage.flush()
    // The storage on disk tells its values a moment later.
    while kind == .sqlite, !device.client().store(for: list).isInvalidated { await Task.yield() }
    #expect(device.client().store(for: list).isInvalidated)
    withExtendedLifetime((keeper, client)) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aSuccessThatFollowsAnInvalidationAtOnceClearsIt(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.one.persisted())
      store.currentValue = 5
      client.invalidate(matching: ["stored"])
      store.currentValue = 6
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 6)
    #expect(!store.isInvalidated)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aPathWithoutAnIdentityInvalidatesNothingThatIsStored(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    try await device.run { client in
      client.invalidate(matching: [ObjectIdentifier(client)])
    }
    #expect(!device.client().store(for: StoredQuery.one.persisted()).isInvalidated)
  }

  /// The query of a 1 whose fetch tells that it has begun, and waits.
  private func held(_ begins: Gate, _ lands: Gate) -> some QueryRequest<Int, QueryState<Int?, Int>>
  {
    StoredQuery {
      begins.open()
      try await lands.pass()
      return 1
    }.persisted()
  }

  /// How another store invalidates what a fetch is under way for.
  enum Invalidator: String, CaseIterable, CustomTestStringConvertible {
    case store
    case client
    /// The value was invalidated before that as well.
    case again

    var testDescription: String { self.rawValue }
  }

  @Test(arguments: Self.pairs, Invalidator.allCases)
  func aFetchTakesNoInvalidationBackThatItDoesNotKnow(
    _ pair: (StorageUnderTest, Bool), _ invalidator: Invalidator
  ) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let (begins, lands) = (Gate(), Gate())
    let query = self.held(begins, lands)
    let plain = StoredQuery.one.persisted()
    other.store(for: plain).currentValue = 0
    if invalidator == .again { other.store(for: plain).invalidate() }
    try await second.storage.flush()
    let store = one.store(for: query)
    let fetch = Task { try await store.fetch() }
    try await begins.pass()
    switch invalidator {
    case .store, .again: other.store(for: plain).invalidate()
    case .client: other.invalidate(matching: plain.path)
    }
    try await second.storage.flush()
    lands.open()
    #expect(try await fetch.value == 1)
    let last = try await self.last(first, second).store(for: plain)
    #expect(last.currentValue == 1)
    #expect(last.isInvalidated)
    // The next fetch has begun after it.
    try await last.fetch()
    #expect(!last.isInvalidated)
    let next = try await self.last(first, first).store(for: plain)
    #expect(!next.isInvalidated)
  }

  /// As long as neither the invalidation nor the value is written.
  @Test(arguments: StorageUnderTest.allCases)
  func aValueThatWaitsTakesNoInvalidationOfAnotherClientBack(_ kind: StorageUnderTest) async throws
  {
    let device = try Device(kind)
    let (one, other) = (device.client(), device.client())
    let (begins, lands) = (Gate(), Gate())
    let query = self.held(begins, lands)
    one.store(for: query).currentValue = 0
    try await device.storage.flush()
    let store = one.store(for: query)
    let fetch = Task { try await store.fetch() }
    try await begins.pass()
    other.store(for: query).invalidate()
    lands.open()
    _ = try await fetch.value
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery.one.persisted()).isInvalidated)
  }

  @Test(arguments: Self.pairs)
  func aPageThatIsAddedTakesNoInvalidationBack(_ pair: (StorageUnderTest, Bool)) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let query = NumberPages().persisted()
    try await one.store(for: query).fetchNextPage()
    try await first.storage.flush()
    other.store(for: query).invalidate()
    try await second.storage.flush()
    try await one.store(for: query).fetchNextPage()
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue.map(\.value) == ["page 0", "page 1"])
    #expect(last.isInvalidated)
    try await last.fetchAllPages()
    #expect(!last.isInvalidated)
    #expect(!(try await self.last(first, first).store(for: query).isInvalidated))
  }

  /// A store that follows other processes learns of it with its own value.
  @Test func aStoreThatFollowsShowsTheInvalidationThatItsFetchLeft() async throws {
    var settings = Device.Settings()
    settings.followsOtherProcesses = true
    let first = try Device(.sqlite, settings)
    let second = try Device(.sqlite, settings, folder: first.folder)
    let (begins, lands) = (Gate(), Gate())
    let query = self.held(begins, lands)
    let plain = StoredQuery.one.persisted()
    let store = first.client().store(for: query)
    let fetch = Task { try await store.fetch() }
    try await begins.pass()
    let other = second.client().store(for: plain)
    other.currentValue = 0
    try await second.storage.flush()
    other.invalidate()
    try await second.storage.flush()
    let invalidated = Gate()
    let subscription = store.subscribe { if $0.isInvalidated { invalidated.open() } }
    defer { subscription.cancel() }
    lands.open()
    _ = try await fetch.value
    try await invalidated.pass()
    #expect(store.currentValue == 1)
  }
}
