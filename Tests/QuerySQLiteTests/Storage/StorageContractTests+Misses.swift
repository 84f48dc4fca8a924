import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

// MARK: - What is stored and not shown

extension StorageContractTests {
  private typealias Store = QueryStore<QueryState<Int?, Int>>

  /// A device with a stored number.
  private func device(
    _ kind: StorageUnderTest,
    storing value: Int = 5,
    _ options: PersistenceOptions = PersistenceOptions()
  ) async throws -> Device {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted(options)).currentValue = value
    }
    return device
  }

  /// What events making a store leads to.
  private func misses(
    of device: Device,
    _ options: PersistenceOptions
  ) async throws -> [StorageEvent] {
    try await device.storage.events {
      let store = device.client().store(for: StoredQuery.one.persisted(options))
      #expect(store.currentValue == nil)
      #expect(store.valueUpdateCount == 0)
      #expect(store.valueLastUpdatedAt == nil)
      #expect(store.origin == .initial)
      #expect(!store.isLoading)
    }
  }

  private var identity: QueryIdentity { QueryIdentity(canonicalText: #"["stored"]"#) }

  @Test(arguments: StorageUnderTest.allCases)
  func whatIsNotStoredIsAMissAndNothingElse(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let events = try await self.misses(of: device, PersistenceOptions())
    #expect(events == [.missed(self.identity, .absent)])
    let query = StoredQuery.one
    #expect(try await device.client().store(for: query.persisted()).fetch() == 1)
    #expect(query.calls.value == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anExpiredEntryStaysAndIsShownWhereMoreIsAllowed(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    device.clock.advance(by: 61)
    let strict = PersistenceOptions(maxAge: .seconds(60))
    #expect(
      try await self.misses(of: device, strict) == [.missed(self.identity, .expired)])
    // A failed fetch of the store that does not show it leaves it alone.
    try await device.run { client in
      let store = client.store(for: StoredQuery.failing.persisted(strict))
      await #expect(throws: TestError.self) { try await store.fetch() }
    }
    let lax = PersistenceOptions(maxAge: .seconds(62))
    let store = device.client().store(for: StoredQuery.one.persisted(lax))
    #expect(store.currentValue == 5)
    #expect(store.error == nil)
    let any = device.client().store(for: StoredQuery.one.persisted())
    #expect(any.currentValue == 5)
    #expect(device.storage.statistics.quarantined == 0)
    // A value that was fetched takes its place.
    try await device.run { client in
      try await client.store(for: StoredQuery.one.persisted(strict)).fetch()
    }
    #expect(device.client().store(for: StoredQuery.one.persisted(strict)).currentValue == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anEntryAtItsMaximumAgeIsShown(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind, PersistenceOptions(maxAge: .seconds(1)))
    device.clock.advance(by: 60)
    let options = PersistenceOptions(maxAge: .seconds(60) + .milliseconds(1))
    #expect(device.client().store(for: StoredQuery.one.persisted(options)).currentValue == 5)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aNewerVersionStaysAndTheStoreWritesNothing(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind, PersistenceOptions(version: 3))
    let older = PersistenceOptions(version: 2)
    #expect(
      try await self.misses(of: device, older) == [.missed(self.identity, .newerVersion(3))])
    try await device.run { client in
      let store = client.store(for: StoredQuery.one.persisted(older))
      try await store.fetch()
      #expect(store.currentValue == 1, "it works, and is not stored")
      store.currentValue = 2
      store.setResult(to: .failure(TestError()))
      store.invalidate()
      store.reset()
    }
    let newer = PersistenceOptions(version: 3)
    let store = device.client().store(for: StoredQuery.one.persisted(newer))
    #expect(store.currentValue == 5)
    #expect(store.valueUpdateCount == 1)
    #expect(store.error == nil)
    #expect(!store.isInvalidated)
    #expect(device.storage.statistics.quarantined == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anOlderVersionWithoutUpgradeIsQuarantined(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    try await self.expectQuarantine(
      device, PersistenceOptions(version: 2), .olderVersion(1))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anEntryThatWasConfirmedIsQuarantinedAsAnyOther(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    for _ in 0..<2 {
      try await device.run { try await $0.store(for: StoredQuery { 5 }.persisted()).fetch() }
    }
    try await self.expectQuarantine(
      device, PersistenceOptions(version: 2), .olderVersion(1))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theBytesOfAnotherCoderAreQuarantined(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    try await self.expectQuarantine(
      device, PersistenceOptions(coder: .propertyList), .otherCoder("json"))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatDoesNotDecodeIsQuarantined(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let options = PersistenceOptions(coder: FailingCoder(failsToDecode: true))
    try await self.expectQuarantine(device, options, .undecodable("TestError(not decoded)"))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anUpgradeThatThrowsIsQuarantined(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let options = PersistenceOptions(version: 2) { _, _ in throw TestError("no way up") }
    try await self.expectQuarantine(device, options, .undecodable("TestError(no way up)"))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func jsonOfAnotherShapeIsQuarantined(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery { ["text"] }.persisted()).currentValue = ["text"]
    }
    let events = try await self.misses(of: device, PersistenceOptions())
    #expect(events.count == 2)
    guard case .missed(self.identity, .undecodable(let reason))? = events.first else {
      Issue.record("\(events)")
      return
    }
    #expect(!reason.isEmpty)
    #expect(events.dropFirst() == [.quarantined(self.identity, .undecodable(reason))])
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theEntryOfAnotherKindOfQueryIsQuarantined(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      try await client.store(for: StoredPages(["stored"]).persisted()).fetch()
    }
    let events = try await self.misses(of: device, PersistenceOptions())
    #expect(events.count == 2)
    #expect(device.storage.statistics.quarantined == 1)
    #expect(device.storage.statistics.entries == 0)
  }

  @Test(arguments: StorageUnderTest.onDisk)
  func bytesThatChangedOnDiskAreQuarantined(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    try await device.storage.close()
    do {
      let opener = DatabaseOpener(kind: .cache, folder: device.folder.path)
      let connection = try opener.openWriter()
      try connection.write { try connection.execute("UPDATE entries SET value = x'36'") }
      try connection.close()
    }
    try await device.relaunch()
    try await self.expectQuarantine(device, PersistenceOptions(), .wrongChecksum)
  }

  /// Checks that an entry is shown to nobody, moved out of the way, and replaced by the network.
  private func expectQuarantine(
    _ device: Device,
    _ options: PersistenceOptions,
    _ miss: StorageMiss,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = device.storage.statistics.quarantined
    let events = try await self.misses(of: device, options)
    // Two threads may send them.
    #expect(events.count == 2, sourceLocation: sourceLocation)
    #expect(
      Set(events) == [.missed(self.identity, miss), .quarantined(self.identity, miss)],
      sourceLocation: sourceLocation)
    #expect(device.storage.statistics.quarantined == before + 1, sourceLocation: sourceLocation)
    try await device.relaunch()
    // A store that could have read it no longer finds it: it is in quarantine.
    let reader = device.client().store(for: StoredQuery.one.persisted())
    #expect(reader.currentValue == nil, sourceLocation: sourceLocation)
    try await device.run { client in
      let query = StoredQuery { 8 }
      let store = client.store(for: query.persisted())
      let value = try await store.fetch()
      #expect(value == 8)
      #expect(query.calls.value == 1)
    }
    let after = device.client().store(for: StoredQuery.one.persisted())
    #expect(after.currentValue == 8, sourceLocation: sourceLocation)
  }

  // MARK: - Upgrading

  @Test(arguments: StorageUnderTest.allCases)
  func anUpgradeMakesANewValueOfAnOldOne(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let versions = Recorder<Int>()
    let options = PersistenceOptions(version: 4) { data, version in
      versions.append(version)
      let old = try JSONQueryCoder.json.decode(Int.self, from: data)
      return try JSONQueryCoder.json.encode(["number \(old)"])
    }
    try await device.run { client in
      let store = client.store(for: StoredQuery { [""] }.persisted(options))
      #expect(store.currentValue == ["number 5"])
      #expect(store.valueUpdateCount == 1)
      #expect(versions.elements == [1])
      store.currentValue?.append("new")
    }
    let store = device.client().store(for: StoredQuery { [""] }.persisted(options))
    #expect(store.currentValue == ["number 5", "new"])
    #expect(versions.elements == [1], "it is written as one of the new version")
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anUpgradeIsNotAskedWhereTheVersionIsTheSame(_ kind: StorageUnderTest) async throws {
    let device = try await self.device(kind)
    let options = PersistenceOptions { _, _ in throw TestError() }
    #expect(device.client().store(for: StoredQuery.one.persisted(options)).currentValue == 5)
  }
}
