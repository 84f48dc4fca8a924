import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - What a store shows

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aStoreShowsWhatWasKnownWhenTheProgramLastRan(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let date = device.clock.now()
    try await device.run { client in
      let store = client.store(for: StoredQuery { 7 }.persisted())
      try await store.fetch()
      try await store.fetch()
      #expect(store.origin == .network)
    }
    device.clock.advance(by: 1_000)
    let query = StoredQuery.failing
    let store = device.client().store(for: query.persisted())
    #expect(store.currentValue == 7)
    #expect(store.valueUpdateCount == 2)
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 0)
    #expect(store.errorLastUpdatedAt == nil)
    #expect(!store.isInvalidated)
    #expect(!store.isLoading)
    #expect(store.status.resultValue == 7)
    let stored = try #require(store.valueLastUpdatedAt)
    #expect(stored <= date, "a date that is rounded up would be one of the future")
    #expect(date.timeIntervalSince(stored) < 0.000_001_5)
    #expect(store.origin == .storage(storedAt: stored))
    #expect(query.calls.value == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func datesAndCountsStayEqualOverManyLaunches(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.one.persisted())
      store.currentValue = 1
      device.clock.advance(by: 0.3)
      store.setResult(to: .failure(TestError()))
    }
    // Each launch writes again, so that a date which loses a little each time would show.
    let first = device.client().store(for: StoredQuery.one.persisted()).state
    for _ in 0..<5 {
      try await device.run { client in client.store(for: StoredQuery.one.persisted()).invalidate() }
    }
    let last = device.client().store(for: StoredQuery.one.persisted()).state
    #expect(last.valueLastUpdatedAt == first.valueLastUpdatedAt)
    #expect(last.errorLastUpdatedAt == first.errorLastUpdatedAt)
    #expect(last.valueUpdateCount == 1)
    #expect(last.errorUpdateCount == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aCancellationIsForgottenAtTheNextLaunch(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.one.persisted())
      store.currentValue = 5
      let writes = device.storage.statistics.writes
      let task = store.fetchTask()
      task.cancel()
      #expect(store.status.isCancelled)
      try await device.storage.flush()
      #expect(device.storage.statistics.writes <= writes + 1, "the value alone")
      // What is written next has nothing of it, either.
      store.invalidate()
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 5)
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 0)
    #expect(store.errorLastUpdatedAt == nil)
    #expect(store.isInvalidated)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aCancellationDoesNotTakeThePlaceOfAnError(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let failing = StoredQuery.failing.persisted()
    var date: Date?
    try await device.run { client in
      let store = client.store(for: failing)
      store.currentValue = 5
      await #expect(throws: TestError.self) { try await store.fetch() }
      date = store.errorLastUpdatedAt
      device.clock.advance(by: 5)
      store.setResult(to: .failure(CancellationError()))
      store.invalidate()
      #expect(store.errorUpdateCount == 2)
    }
    try await device.run { client in
      let store = client.store(for: failing)
      #expect(store.error as? RestoredError == RestoredError(TestError("no network")))
      #expect(store.errorUpdateCount == 1)
      let (shown, failed) = (try #require(store.errorLastUpdatedAt), try #require(date))
      #expect(abs(shown.timeIntervalSince(failed)) < 1)
      store.setResult(to: .failure(CancellationError()))
      store.currentValue = 6
    }
    let store = device.client().store(for: failing)
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theValueIsThereForTheFirstEventAndForControllers(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    let controller = StateRecorder()
    let query = StoredQuery.one.persisted().stale(after: 60).controlled(by: controller)
    let store = device.client().store(for: query)
    #expect(controller.values.elements == [5])
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = store.subscribe(with: collector.handler)
    #expect(collector.states.map(\.currentValue) == [5])
    #expect(collector.states.map(\.isLoading) == [false])
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func itWinsOverAnInitialValueToWhichResetGoesBack(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    let store = device.client().store(for: StoredQuery.one.persisted(), initialValue: 9)
    #expect(store.currentValue == 5)
    #expect(store.initialValue == 9)
    store.reset()
    #expect(store.currentValue == 9)
    #expect(store.origin == .initial)
    #expect(store.valueUpdateCount == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func itWinsOverADefaultValueInEitherOrder(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery(["a"]) { 1 }.persisted().defaultValue(9)).currentValue = 5
      client.store(for: StoredQuery(["b"]) { 1 }.defaultValue(9).persisted()).currentValue = 6
      client.store(for: StoredQuery(["c"]) { 1 }.defaultValue(9).persisted()).setResult(
        to: .failure(TestError()))
    }
    let client = device.client()
    // Each one read in the other order, too: the value is the same.
    let first = client.store(for: StoredQuery(["a"]) { 1 }.defaultValue(9).persisted())
    let second = client.store(for: StoredQuery(["b"]) { 1 }.persisted().defaultValue(9))
    let third = client.store(for: StoredQuery(["c"]) { 1 }.persisted().defaultValue(9))
    #expect(first.currentValue == 5)
    #expect(second.currentValue == 6)
    #expect(third.currentValue == 9, "an error is stored, but no value")
    #expect(third.error is RestoredError)
    first.reset()
    #expect(first.currentValue == 9)
    let plain = device.client().store(for: StoredQuery(["b"]) { 1 }.persisted())
    #expect(plain.currentValue == 6)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theOriginSaysWhereTheValueIsFrom(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.one.persisted())
      #expect(store.origin == .initial)
      store.currentValue = 5
      #expect(store.origin == .local)
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    let stored = ValueOrigin.storage(storedAt: try #require(store.valueLastUpdatedAt))
    #expect(store.origin == stored)
    store.setResult(to: .failure(TestError()))
    store.invalidate()
    #expect(store.origin == stored, "neither is about where the value is from")
    try await store.fetch()
    #expect(store.origin == .network)
    store.currentValue = 6
    #expect(store.origin == .local)
    store.reset()
    #expect(store.origin == .initial)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anErrorComesBackWithItsTypeAndText(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.failing.persisted())
      store.currentValue = 3
      await #expect(throws: TestError.self) { try await store.fetch() }
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    let error = try #require(store.error as? RestoredError)
    #expect(error.typeName == "TestSupport.TestError")
    #expect(error.text == "TestError(no network)")
    #expect("\(error)" == error.text)
    #expect(store.errorUpdateCount == 1)
    #expect(store.errorLastUpdatedAt != nil)
    #expect(store.currentValue == 3, "the last good value stays beside the error")
    #expect(store.status.resultError is RestoredError)
    // It stays what it is over another launch, and a success clears it.
    store.invalidate()
    try await device.relaunch()
    let again = device.client().store(for: StoredQuery.one.persisted())
    #expect(again.error as? RestoredError == error)
    try await again.fetch()
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery.one.persisted()).error == nil)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aStoreThatOnlyFailedShowsThat(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.failing.persisted(), initialValue: 4)
      await #expect(throws: TestError.self) { try await store.fetch() }
    }
    let store = device.client().store(for: StoredQuery.failing.persisted(), initialValue: 4)
    #expect(store.error is RestoredError)
    #expect(store.currentValue == 4)
    #expect(store.valueUpdateCount == 0)
    #expect(store.origin == .initial)
    #expect(!store.status.isLoading)
  }
}

/// Keeps the value that it finds when it starts.
struct StateRecorder: QueryController {
  let values = Recorder<Int?>()

  func control(with controls: QueryControls<QueryState<Int?, Int>>) -> QuerySubscription {
    self.values.append(controls.state.currentValue)
    return .empty
  }
}

// MARK: - What it fetches

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aFreshEntryMakesNoNetworkCall(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    device.clock.advance(by: 60)
    let query = StoredQuery.one
    let store = device.client().store(for: query.stale(after: 61).persisted())
    #expect(!store.isStale)
    let subscription = store.subscribe(with: QueryEventHandler())
    // A fetch that begins is in the state when the subscription returns.
    #expect(!store.isLoading)
    #expect(query.calls.value == 0)
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aStaleEntryMakesExactlyOne(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    device.clock.advance(by: 61)
    let gate = Gate()
    let query = StoredQuery {
      try await gate.pass()
      return 6
    }
    let store = device.client().store(for: query.stale(after: 60).persisted())
    #expect(store.isStale)
    #expect(store.currentValue == 5)
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = store.subscribe(with: collector.handler)
    let second = store.subscribe(with: QueryEventHandler())
    #expect(store.isLoading)
    #expect(store.currentValue == 5, "what is known stays while it is fetched")
    gate.open()
    await collector.wait(for: .fetchingEnded)
    #expect(store.currentValue == 6)
    #expect(!store.isStale)
    let third = store.subscribe(with: QueryEventHandler())
    #expect(!store.isLoading)
    #expect(query.calls.value == 1)
    withExtendedLifetime((subscription, second, third)) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aDateInTheFutureIsStaleAndPinsNothing(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      device.clock.advance(by: 1_000_000)
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
      device.clock.advance(by: -1_000_000)
    }
    let query = StoredQuery { 6 }
    let options = PersistenceOptions(maxAge: .seconds(60))
    try await device.run { client in
      let store = client.store(for: query.stale(after: 60).persisted(options))
      #expect(store.currentValue == 5)
      #expect(store.isStale)
      try await store.fetch()
      #expect(store.valueLastUpdatedAt == device.clock.now())
    }
    let store = device.client().store(for: query.stale(after: 60).persisted(options))
    #expect(store.currentValue == 6, "the newer date is the smaller one, and is what is stored")
    #expect(!store.isStale)
  }
}
