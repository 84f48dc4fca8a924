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

  @Test(arguments: StorageUnderTest.allCases)
  func aChangeThatWaitsOfAStoreThatIsGoneIsInvalidatedToo(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let coder = GatedCoder(encoding: Door())
    let busy = StoredQuery(["busy"]) { 1 }.persisted(PersistenceOptions(coder: coder))
    let keeper = device.client().store(for: busy)
    keeper.currentValue = 0
    await coder.encoded.wait(forCount: 1)
    device.client().store(for: StoredQuery.one.persisted()).currentValue = 5
    device.client().invalidate(matching: ["stored"])
    coder.encoding.open()
    try await device.relaunch()
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 5)
    #expect(store.isInvalidated)
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
}
