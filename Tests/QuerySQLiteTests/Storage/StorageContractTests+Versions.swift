import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

// MARK: - What a newer release stores while an earlier one runs

extension StorageContractTests {
  /// What the store of an earlier release does.
  enum EarlierChange: CaseIterable, Sendable {
    case set, fetch, fail, invalidate, reset

    func make(of store: QueryStore<QueryState<Int?, Int>>) async throws {
      switch self {
      case .set: store.currentValue = 6
      case .fetch: try await store.fetch()
      case .fail: store.setResult(to: .failure(TestError()))
      case .invalidate: store.invalidate()
      case .reset: store.reset()
      }
    }
  }

  private var newest: PersistenceOptions { PersistenceOptions(version: 2) }
  private var path: QueryIdentity { QueryIdentity(canonicalText: #"["stored"]"#) }

  /// Makes what is stored the value of a newer release, as another process does.
  private func raiseVersion(on device: Device) throws {
    if let storage = device.storage as? MemoryQueryStorage {
      storage[self.path]?.version = 2
      return
    }
    let connection = try DatabaseOpener(kind: .cache, folder: device.folder.path).openWriter()
    try connection.write { try connection.execute("UPDATE entries SET value_version = 2") }
    try connection.close()
  }

  private func expectValue(
    _ value: Int, on device: Device, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let store = device.client().store(for: StoredQuery.one.persisted(self.newest))
    try #require(store.currentValue == value, sourceLocation: sourceLocation)
    #expect(store.valueUpdateCount == 1, sourceLocation: sourceLocation)
    try #require(store.error == nil, sourceLocation: sourceLocation)
    try #require(!store.isInvalidated, sourceLocation: sourceLocation)
  }

  @Test(arguments: StorageUnderTest.allCases, EarlierChange.allCases)
  func whatANewerReleaseHasStoredMeanwhileStays(
    _ kind: StorageUnderTest, _ change: EarlierChange
  ) async throws {
    let device = try Device(kind)
    try await device.run { $0.store(for: StoredQuery.one.persisted()).currentValue = 5 }
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 5)
    try self.raiseVersion(on: device)
    let events = device.storage.events
    try await change.make(of: store)
    try await device.storage.flush()
    try self.expectValue(5, on: device)
    // From then on it works, and nothing of it is stored.
    #expect(await events.contains(.missed(self.path, .newerVersion(2))))
    store.currentValue = 7
    #expect(device.storage.slots.existingSlot(for: self.path)?.waitingWrite == nil)
    #expect(store.currentValue == 7)
    try await device.relaunch()
    try self.expectValue(5, on: device)
    #expect(device.storage.statistics.quarantined == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aChangeThatComesBeforeALateValueOfANewerReleaseIsNotStored(
    _ kind: StorageUnderTest
  ) async throws {
    var settings = Device.Settings()
    settings.synchronousHydrationLimit = 0
    let device = try Device(kind, settings)
    try await device.run { client in
      client.store(for: StoredQuery.one.persisted(self.newest)).currentValue = 5
    }
    let store = device.client().store(for: StoredQuery.one.persisted())
    store.currentValue = 6
    await store.hydrated()
    try await device.relaunch()
    let newer = device.client().store(for: StoredQuery.one.persisted(self.newest))
    await newer.hydrated()
    #expect(newer.currentValue == 5)
  }

  @Test func aStoreThatFollowsStopsWritingWhenANewerReleaseWrites() async throws {
    var settings = Device.Settings()
    settings.followsOtherProcesses = true
    let device = try Device(.sqlite, settings)
    try await device.run { $0.store(for: StoredQuery.one.persisted()).currentValue = 5 }
    let store = device.client().store(for: StoredQuery.one.persisted())
    #expect(store.currentValue == 5)
    let events = device.storage.events
    let connection = try DatabaseOpener(kind: .cache, folder: device.folder.path).openWriter()
    try connection.write {
      var changes = try CacheTables.current(named: "", on: connection).begin()
      let history = UpdateHistory(valueUpdateCount: 2, valueLastUpdatedAt: Date())
      let entry = StoredEntry(
        kind: "query", coder: "json", version: 2, content: .value(Data("6".utf8)),
        history: history)
      _ = try changes.write(entry, identity: self.path)
      _ = try changes.finish()
    }
    try connection.close()
    ChangeKick(kind: .cache, folder: device.folder.path).kick()
    #expect(await events.contains(.missed(self.path, .newerVersion(2))))
    #expect(store.currentValue == 5)
    store.currentValue = 7
    #expect(device.storage.slots.existingSlot(for: self.path)?.waitingWrite == nil)
    try await device.storage.close()
  }
}
