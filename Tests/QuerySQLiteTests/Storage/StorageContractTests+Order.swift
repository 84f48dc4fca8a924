import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - When it is written

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aCoderThatBlocksNeverBlocksTheCaller(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let coder = GatedCoder(encoding: Door())
    let options = PersistenceOptions(coder: coder)
    let store = device.client().store(for: StoredQuery.one.persisted(options))
    store.currentValue = 0
    await coder.encoded.wait(forCount: 1)
    // The storage is in the coder now. A caller waiting for it would never open the door.
    for value in 1...1_000 { store.currentValue = value }
    store.invalidate()
    store.setResult(to: .failure(TestError()))
    let other = device.client().store(for: StoredQuery(["other"]) { 1 }.persisted(options))
    other.currentValue = 3
    other.reset()
    device.storage.invalidate(matching: ["stored"])
    _ = device.storage.statistics
    coder.encoding.open()
    try await device.relaunch()
    let restored = device.client().store(for: StoredQuery.one.persisted())
    #expect(restored.currentValue == 1_000)
    #expect(restored.isInvalidated)
    #expect(restored.error is RestoredError)
    #expect(device.storage.statistics.entries == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theNewestChangeOfAnEntryWinsAndOthersAreNotCoded(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let coder = GatedCoder(encoding: Door())
    let options = PersistenceOptions(coder: coder)
    let store = device.client().store(for: StoredQuery.one.persisted(options))
    store.currentValue = 1
    await coder.encoded.wait(forCount: 1)
    store.currentValue = 2
    store.currentValue = 3
    coder.encoding.open()
    try await device.storage.flush()
    #expect(coder.encoded.elements == ["1", "3"])
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == 3)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func removingBeatsAPendingWrite(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let coder = GatedCoder(encoding: Door())
    let options = PersistenceOptions(coder: coder)
    let store = device.client().store(for: StoredQuery.one.persisted(options))
    store.currentValue = 1
    await coder.encoded.wait(forCount: 1)
    // One write is under way, another one waits.
    store.currentValue = 2
    store.reset()
    coder.encoding.open()
    try await device.relaunch()
    #expect(device.storage.statistics.entries == 0)
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == nil)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aChangeAfterARemovalIsWritten(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredQuery.one.persisted())
      store.currentValue = 1
      store.reset()
      store.currentValue = 2
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 2)
    #expect(store.valueUpdateCount == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aStoreThatIsMadeAgainSeesWhatWasNotWrittenYet(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    // Keeps the writer busy, so that the changes below wait.
    let coder = GatedCoder(encoding: Door())
    let options = PersistenceOptions(coder: coder)
    let busy = device.client().store(for: StoredQuery(["busy"]) { 1 }.persisted(options))
    busy.currentValue = 0
    await coder.encoded.wait(forCount: 1)
    device.client().store(for: StoredQuery.one.persisted()).currentValue = 4
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == 4)
    device.client().store(for: StoredQuery.one.persisted()).currentValue = 5
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 5)
    #expect(store.valueUpdateCount == 2)
    store.reset()
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == nil)
    store.currentValue = 6
    coder.encoding.open()
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == 6)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aStoreThatIsReleasedAtOnceIsWrittenAllTheSame(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    for value in 0..<50 {
      device.client().store(for: StoredQuery(["n", value]) { 0 }.persisted()).currentValue = value
    }
    try await device.relaunch()
    let client = device.client()
    for value in 0..<50 {
      #expect(client.store(for: StoredQuery(["n", value]) { 0 }.persisted()).currentValue == value)
    }
    #expect(device.storage.statistics.entries == 50)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func twoStoresOfOneIdentityBothWriteAndTheLaterChangeWins(
    _ kind: StorageUnderTest
  ) async throws {
    let device = try Device(kind)
    let first = device.client().store(for: StoredQuery.one.persisted())
    let second = device.client().store(for: StoredQuery.one.persisted())
    first.currentValue = 1
    second.currentValue = 2
    try await device.storage.flush()
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == 2)
    first.currentValue = 3
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery.one.persisted()).currentValue == 3)
    #expect(device.storage.statistics.entries == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func manyThreadsChangeStoresOfOneStorage(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let client = device.client()
    await runOnThreads(8) { thread in
      for round in 0..<100 {
        let shared = client.store(for: StoredQuery(["shared"]) { 0 }.persisted())
        shared.currentValue = round
        if round % 10 == 9 { shared.reset() }
        let own = client.store(for: StoredQuery(["own", thread]) { 0 }.persisted())
        own.currentValue = round
        if round % 7 == 0 { client.clearStore(with: ["own", thread]) }
        if round % 25 == 0 { device.storage.invalidate(matching: ["own"]) }
        own.currentValue = round
      }
      client.store(for: StoredQuery(["own", thread]) { 0 }.persisted()).currentValue = 1_000
    }
    client.store(for: StoredQuery(["shared"]) { 0 }.persisted()).currentValue = 1_000
    try await device.relaunch()
    let next = device.client()
    #expect(next.store(for: StoredQuery(["shared"]) { 0 }.persisted()).currentValue == 1_000)
    for thread in 0..<8 {
      let store = next.store(for: StoredQuery(["own", thread]) { 0 }.persisted())
      #expect(store.currentValue == 1_000)
    }
  }
}
