import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - What is written

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aFailedRefreshKeepsTheLastGoodValue(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let date = device.clock.now()
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    device.clock.advance(by: 10)
    try await device.run { client in
      let store = client.store(for: StoredQuery.failing.persisted())
      await #expect(throws: TestError.self) { try await store.fetch() }
      await #expect(throws: TestError.self) { try await store.fetch() }
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 5)
    #expect(store.valueUpdateCount == 1)
    #expect(store.errorUpdateCount == 2)
    let valueDate = try #require(store.valueLastUpdatedAt)
    let errorDate = try #require(store.errorLastUpdatedAt)
    #expect(abs(valueDate.timeIntervalSince(date)) < 0.000_002)
    #expect(abs(errorDate.timeIntervalSince(date) - 10) < 0.000_002)
  }

  /// A store that leaves the memory for want of use takes nothing along.
  @Test(arguments: StorageUnderTest.allCases)
  func whatIsWrittenStaysWhenItsStoreHasLeft(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    let (paths, left) = AsyncStream<QueryPath>.makeStream()
    let watch = client.subscribe { change in
      if case .removed(let store) = change { left.yield(store.path) }
    }
    let query = StoredQuery.one.disableAutomaticFetching()
    client.store(for: query.evict(afterUnused: .milliseconds(1)).persisted()).currentValue = 5
    #expect(await paths.first { _ in true } == ["stored"])
    watch.cancel()
    #expect(client.store(for: query.persisted()).currentValue == 5)
    try await device.relaunch()
    #expect(device.client().store(for: query.persisted()).currentValue == 5)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func editsAreAsDurableAsFetchedValues(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery(["a"]) { 1 }.persisted()).currentValue = 2
      client.store(for: StoredQuery(["b"]) { 1 }.persisted()).setResult(to: .success(3))
      let opaque = OpaqueQueryStore(
        erasing: client.store(for: StoredQuery(["c"]) { 1 }.persisted()))
      opaque.uncheckedSetCurrentValue(4)
      client.store(for: StoredQuery(["d"]) { 1 }.persisted()).withExclusiveAccess {
        $0.currentValue = 5
        $0.currentValue = 6
      }
    }
    let client = device.client()
    #expect(client.store(for: StoredQuery(["a"]) { 1 }.persisted()).currentValue == 2)
    #expect(client.store(for: StoredQuery(["b"]) { 1 }.persisted()).currentValue == 3)
    #expect(client.store(for: StoredQuery(["c"]) { 1 }.persisted()).currentValue == 4)
    let last = client.store(for: StoredQuery(["d"]) { 1 }.persisted())
    #expect(last.currentValue == 6)
    #expect(last.valueUpdateCount == 2)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatAControllerYieldsIsStored(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let query = StoredQuery.one.persisted().controlled(by: YieldingController(value: 8))
      #expect(client.store(for: query).currentValue == 8)
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 8)
    #expect(store.error as? RestoredError == RestoredError(TestError("yielded")))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatARequestYieldsIsStoredBeforeItReturns(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let gate = Gate()
    let query = StoredQuery<Int>(yielding: { continuation in
      continuation.yield(7)
      await gate.passIgnoringCancellation()
      return 8
    })
    let store = device.client().store(for: query.persisted())
    let task = store.fetchTask()
    let fetch = Task { try await task.runIfNeeded() }
    await gate.arrival()
    try await device.storage.flush()
    let other = device.client().store(for: StoredQuery.one.persisted())
    #expect(other.currentValue == 7)
    #expect(!other.isLoading)
    gate.open()
    #expect(try await fetch.value == 8)
    try await device.storage.flush()
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == 8)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func resetRemovesWhatIsStored(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery(["a"]) { 1 }.persisted()).currentValue = 5
      client.store(for: StoredQuery(["b"]) { 1 }.persisted()).currentValue = 6
    }
    try await device.run { client in
      client.store(for: StoredQuery(["a"]) { 1 }.persisted()).reset()
    }
    #expect(device.storage.statistics.entries == 1)
    let client = device.client()
    let store = client.store(for: StoredQuery(["a"]) { 1 }.persisted())
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 0)
    #expect(client.store(for: StoredQuery(["b"]) { 1 }.persisted()).currentValue == 6)
    // And the store goes on as any other.
    store.currentValue = 7
    try await device.relaunch()
    #expect(
      device.client().store(for: StoredQuery(["a"]) { 1 }.persisted()).currentValue == 7)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func nilThatWasSetByHandComesBackAsNil(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.one.persisted(), initialValue: 9)
      store.currentValue = 5
      store.currentValue = nil
    }
    let store = device.client().store(for: StoredQuery.one.persisted(), initialValue: 9)
    #expect(store.currentValue == nil)
    #expect(store.valueUpdateCount == 2)
    #expect(store.valueLastUpdatedAt != nil)
    store.reset()
    #expect(store.currentValue == 9)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aValueMayItselfBeOptional(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    for coder in [any QueryCoder](arrayLiteral: .json, .propertyList) {
      let options = PersistenceOptions(coder: coder)
      func query(_ name: String, _ value: Int?) -> StoredQuery<Int?> {
        StoredQuery([name, coder.name]) { value }
      }
      try await device.run { client in
        try await client.store(for: query("nil", nil).persisted(options)).fetch()
        try await client.store(for: query("some", 3).persisted(options)).fetch()
        client.store(for: query("hand", 3).persisted(options)).currentValue = .none
        let value = client.store(for: query("value", 3).persisted(options).defaultValue(4))
        value.currentValue = nil
      }
      let client = device.client()
      let fetchedNil = client.store(for: query("nil", 1).persisted(options)).currentValue
      #expect(fetchedNil == .some(.none))
      #expect(client.store(for: query("some", 1).persisted(options)).currentValue == 3)
      let hand = client.store(for: query("hand", 1).persisted(options))
      #expect(hand.currentValue == .none)
      #expect(hand.valueUpdateCount == 1)
      let value = client.store(for: query("value", 1).persisted(options).defaultValue(4))
      #expect(value.currentValue == nil)
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func equalValuesAreWrittenWithTheirNewDate(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    for _ in 0..<3 {
      device.clock.advance(by: 100)
      try await device.run { client in
        client.store(for: StoredQuery.one.persisted()).currentValue = 5
      }
    }
    let store = device.client().store(for: StoredQuery.one.stale(after: 1).persisted())
    #expect(store.valueUpdateCount == 3)
    #expect(!store.isStale)
  }
}

/// Yields a value and an error when it starts.
struct YieldingController: QueryController {
  let value: Int

  func control(with controls: QueryControls<QueryState<Int?, Int>>) -> QuerySubscription {
    controls.yield(self.value)
    controls.yield(throwing: TestError("yielded"))
    return .empty
  }
}
