import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - Erasing

extension StorageContractTests {
  /// Stores that are made while many others are closed are not reset, and must not have read before.
  @Test(arguments: StorageUnderTest.allCases)
  func aStoreThatIsMadeDuringAnErasureShowsNothingOfIt(_ kind: StorageUnderTest) async throws {
    for _ in 0..<8 {
      let device = try Device(kind)
      let client = device.client()
      let query = { (number: Int) in
        StoredQuery(["n", number]) { 1 }.disableAutomaticFetching().persisted()
      }
      client.store(for: query(0)).currentValue = 5
      try await device.storage.flush()
      let alive = (1..<3_000).map { client.store(for: query($0)) }
      let isBegun = Locked(false)
      let erasing = Task.detached { [storage = device.storage] in
        isBegun.withLock { $0 = true }
        try await storage.erase()
      }
      while !isBegun.withLock({ $0 }) || !device.storage.slots.all.isEmpty { await Task.yield() }
      // As of a client of the next account.
      let store = device.client().store(for: query(0))
      await store.hydrated()
      try await erasing.value
      await store.hydrated()
      #expect(store.currentValue == nil)
      withExtendedLifetime(alive) {}
      try await device.storage.close()
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func erasingForgetsEverythingOnDiskAndInMemory(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    // What a subscriber's automatic fetch returned after the erasing would be worth a warning.
    let stores = (0..<5).map { number in
      client.store(for: StoredQuery(["n", number]) { 1 }.disableAutomaticFetching().persisted())
    }
    for store in stores { store.currentValue = 5 }
    let pages = client.store(for: StoredPages().persisted())
    for _ in 0..<3 { try await pages.fetchNextPage() }
    let collector = EventCollector<QueryState<Int?, Int>>()
    let subscription = stores[0].subscribe(with: collector.handler)
    try await device.storage.flush()
    try await device.storage.erase()
    for store in stores {
      #expect(store.currentValue == nil)
      #expect(store.valueUpdateCount == 0)
      #expect(store.origin == .initial)
    }
    #expect(pages.currentValue == [])
    #expect(collector.states.last?.currentValue == .some(.none))
    #expect(device.storage.statistics.entries == 0)
    #expect(device.storage.statistics.bytes == 0)
    try await device.relaunch()
    #expect(device.storage.statistics.entries == 0)
    let next = device.client()
    for index in 0..<5 {
      #expect(next.store(for: StoredQuery(["n", index]) { 1 }.persisted()).currentValue == nil)
    }
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func noPendingWriteBringsBackWhatWasErased(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let coder = GatedCoder(encoding: Door())
    let options = PersistenceOptions(coder: coder)
    let store = device.client().store(for: StoredQuery.one.persisted(options))
    let waiting = device.client().store(for: StoredQuery(["waiting"]) { 1 }.persisted())
    store.currentValue = 5
    await coder.encoded.wait(forCount: 1)
    waiting.currentValue = 6
    // Erasing may wait for what is being coded, so it is not waited for here.
    let storage = device.storage
    async let erasing: Void = storage.erase()
    coder.encoding.open()
    try await erasing
    #expect(store.currentValue == nil)
    try await device.relaunch()
    #expect(device.storage.statistics.entries == 0)
    let client = device.client()
    #expect(client.store(for: StoredQuery.one.persisted()).currentValue == nil)
    #expect(client.store(for: StoredQuery(["waiting"]) { 1 }.persisted()).currentValue == nil)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatLivingStoresHoldAfterwardsIsNotWrittenUntilTheyAreMadeAnew(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let store = device.client().store(for: StoredQuery.one.persisted())
    store.currentValue = 5
    try await device.storage.erase()
    await WarningRecorder().record { store.currentValue = 6 }
    #expect(store.currentValue == 6, "it goes on from memory")
    try await device.storage.flush()
    #expect(device.storage.statistics.entries == 0)
    let anew = device.client().store(for: StoredQuery.one.persisted())
    #expect(anew.currentValue == nil)
    anew.currentValue = 7
    store.currentValue = 8
    store.reset()
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == 7)
  }

  @Test(arguments: StorageUnderTest.allCases, [true, false])
  func noFetchBeginsThatWaitsForOneOfAnotherStore(
    _ kind: StorageUnderTest, _ waitsForTheFirst: Bool
  ) async throws {
    let device = try Device(kind)
    let gate = Gate()
    let client = device.client()
    let tasks = (1...2).map { number in
      let query = StoredQuery(["n", number]) {
        try await gate.pass()
        return 5
      }
      return client.store(for: query.persisted()).fetchTask()
    }
    let (first, second) = waitsForTheFirst ? (tasks[0], tasks[1]) : (tasks[1], tasks[0])
    second.schedule(after: first)
    let waiter = Task { try await second.runIfNeeded() }
    await gate.arrival()
    try await device.storage.erase()
    await #expect(throws: CancellationError.self) { try await waiter.value }
    #expect(gate.arrivals == 1)
    try await device.storage.close()
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aFetchThatWasUnderWayIsNotStored(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let gate = Gate()
    let query = StoredQuery {
      await gate.passIgnoringCancellation()
      return 5
    }
    let store = device.client().store(for: query.persisted())
    let task = store.fetchTask()
    let fetch = Task { try await task.runIfNeeded() }
    await gate.arrival()
    try await device.storage.erase()
    gate.open()
    _ = await fetch.result
    #expect(store.currentValue == nil)
    try await device.relaunch()
    #expect(device.storage.statistics.entries == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anErasedStorageGoesOn(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.storage.erase()
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted()).currentValue = 5
    }
    try await device.storage.erase()
    try await device.storage.erase()
    try await device.run { client in
      let store = client.store(for: StoredQuery.one.persisted())
      #expect(store.currentValue == nil)
      store.currentValue = 6
    }
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == 6)
  }

  @Test(arguments: StorageUnderTest.onDisk)
  func partitionsAreApart(_ kind: StorageUnderTest) async throws {
    var settings = Device.Settings()
    settings.partition = "ann"
    let ann = try Device(kind, settings)
    settings.partition = "bob"
    let bob = try Device(kind, settings, folder: ann.folder)
    let annStore = ann.client().store(for: StoredQuery.one.persisted())
    let bobStore = bob.client().store(for: StoredQuery.one.persisted())
    annStore.currentValue = 1
    try await ann.storage.flush()
    let other = bob.client().store(for: StoredQuery.one.persisted())
    await other.hydrated()
    #expect(other.currentValue == nil)
    bobStore.currentValue = 2
    bob.client().invalidate()
    try await ann.storage.flush()
    try await bob.storage.flush()
    #expect(ann.storage.statistics.entries == 1)
    #expect(!annStore.isInvalidated)
    #expect(!ann.client().store(for: StoredQuery.one.persisted()).isInvalidated)
    try await ann.storage.erase()
    #expect(annStore.currentValue == nil)
    #expect(bobStore.currentValue == 2)
    try await ann.relaunch()
    try await bob.relaunch()
    // The files stay open for the other account, so that what they have may come a little later.
    let (annAgain, bobAgain) = (
      ann.client().store(for: StoredQuery.one.persisted()),
      bob.client().store(for: StoredQuery.one.persisted())
    )
    await annAgain.hydrated()
    await bobAgain.hydrated()
    #expect(annAgain.currentValue == nil)
    #expect(bobAgain.currentValue == 2)
  }
}
