import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

// MARK: - Metadata of a value, and values that did not change

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aValidatorOutlivesTheLaunchWithItsValue(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let (server, coder) = (VersionedServer(), CountingCoder())
    let query = server.query.persisted(PersistenceOptions(coder: coder))
    try await device.run { client in try await client.store(for: query).fetch() }
    let encoded = coder.encoded.value
    try await device.run { client in
      let store = client.store(for: query)
      #expect(store.currentValue == "one")
      device.clock.advance(by: 60)
      let value = try await store.fetch()
      #expect(value == "one")
      #expect(store.valueUpdateCount == 2)
      #expect(store.valueLastUpdatedAt == device.clock.now())
      #expect(store.origin == .network)
    }
    #expect(server.answers.elements == ["full", "unchanged"])
    #expect(coder.encoded.value == encoded, "a value that did not change is not coded")
    let store = device.client().store(for: query)
    let date = try #require(store.valueLastUpdatedAt)
    #expect(abs(date.timeIntervalSince(device.clock.now())) < 0.001)
    #expect(store.valueUpdateCount == 2)
    server.set("two")
    try await store.fetch()
    try await store.fetch()
    #expect(store.currentValue == "two")
    #expect(server.answers.elements == ["full", "unchanged", "full", "unchanged"])
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatIsUnchangedHasNeitherErrorNorInvalidation(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let server = VersionedServer()
    let query = server.query.persisted()
    try await device.run { client in
      let store = client.store(for: query)
      try await store.fetch()
      store.setResult(to: .failure(TestError("no network")))
      store.invalidate()
      try await store.fetch()
      #expect(store.error == nil)
      #expect(!store.isInvalidated)
      #expect(store.errorUpdateCount == 1)
    }
    #expect(server.answers.elements == ["full", "unchanged"])
    let store = device.client().store(for: query)
    #expect(store.error == nil)
    #expect(!store.isInvalidated)
    #expect(store.valueUpdateCount == 2)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func whatIsUnchangedIsStoredInThePlaceOfWhatWasSetMeanwhile(_ kind: StorageUnderTest) async throws
  {
    let device = try Device(kind)
    let gate = Gate()
    let query = BlockQuery.confirmingLate(gate).persisted()
    try await device.run { client in
      let store = client.store(for: query)
      try await store.fetch()
      let slow = Task { try await store.fetch() }
      await gate.arrival()
      store.currentValue = 2
      try await device.storage.flush()
      gate.open()
      #expect(try await slow.value == 1)
    }
    #expect(device.client().store(for: query).currentValue == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func metadataIsGoneWithItsValue(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let server = VersionedServer()
    let query = server.query.persisted()
    let store = device.client().store(for: query)
    try await store.fetch()
    store.currentValue = "by hand"
    try await store.fetch()
    #expect(store.currentValue == "one")
    store.reset()
    try await store.fetch()
    #expect(server.answers.elements == ["full", "full", "full"])
    try await device.relaunch()
    let raised = server.query.persisted(
      PersistenceOptions(version: 2, upgrade: { data, _ in data }))
    let upgraded = device.client().store(for: raised)
    #expect(upgraded.currentValue == "one")
    try await upgraded.fetch()
    #expect(
      server.answers.elements.last == "full", "an upgraded value is not what the server knows")
    try await device.relaunch()
    let other = server.query.persisted(PersistenceOptions(version: 2, coder: .propertyList))
    try await device.client().store(for: other).fetch()
    #expect(server.answers.elements.last == "full")
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anErasedValueLeavesNothing(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let server = VersionedServer()
    let query = server.query.persisted()
    try await device.client().store(for: query).fetch()
    try await device.storage.erase()
    try await device.client().store(for: query).fetch()
    #expect(server.answers.elements == ["full", "full"])
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theRequestSaysHowLongAValueIsFresh(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let server = VersionedServer(freshFor: .seconds(100))
    let query = server.query.persisted().stale(after: 10)
    try await device.run { client in
      let store = client.store(for: query)
      #expect(store.isStale)
      try await store.fetch()
      device.clock.advance(by: 50)
      #expect(!store.isStale)
    }
    let store = device.client().store(for: query)
    #expect(!store.isStale)
    device.clock.advance(by: 51)
    #expect(store.isStale)
    try await store.fetch()
    #expect(!store.isStale)
    store.invalidate()
    #expect(store.isStale)
    store.currentValue = "by hand"
    device.clock.advance(by: 11)
    #expect(store.isStale, "the server has not spoken of this value")
  }

  @Test(arguments: StorageUnderTest.allCases)
  func pagesHaveMetadataOfTheirOwn(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let (server, coder) = (VersionedPages(), CountingCoder())
    let query = server.query.persisted(PersistenceOptions(coder: coder))
    try await device.run { client in
      let store = client.store(for: query)
      for _ in 0..<3 { try await store.fetchNextPage() }
    }
    #expect(server.answers.elements == ["full 0", "full 1", "full 2"])
    server.answers.removeAll()
    let encoded = coder.encoded.value
    try await device.run { client in
      let store = client.store(for: query)
      try await store.fetch()
      #expect(store.currentValue.map(\.value) == ["0", "0", "0"])
      #expect(store.valueUpdateCount == 4)
    }
    #expect(server.answers.elements == ["same 0", "same 1", "same 2"])
    #expect(coder.encoded.value == encoded)
    server.answers.removeAll()
    server.raise(1)
    try await device.run { client in
      let store = client.store(for: query)
      try await store.fetch()
      #expect(store.currentValue.map(\.value) == ["0", "1", "0"])
    }
    #expect(server.answers.elements == ["same 0", "full 1", "same 2"])
    server.answers.removeAll()
    let store = device.client().store(for: query)
    #expect(store.currentValue.map(\.value) == ["0", "1", "0"])
    try await store.fetch()
    #expect(server.answers.elements == ["same 0", "same 1", "same 2"])
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aFailureAndAnInvalidationDoNotCodeTheValueAgain(_ kind: StorageUnderTest) async throws {
    let (device, coder) = (try Device(kind), CountingCoder())
    let query = BlockQuery<String>(["value"]) { _ in throw TestError() }
      .persisted(PersistenceOptions(coder: coder))
    try await device.run { client in client.store(for: query).currentValue = "seen" }
    let encoded = coder.encoded.value
    // Of a value that was read, and once more.
    try await device.run { client in
      let store = client.store(for: query)
      for _ in 0..<2 {
        _ = try? await store.fetch()
        try await device.storage.flush()
      }
    }
    try await device.run { client in
      let store = client.store(for: query)
      #expect(store.currentValue == "seen")
      #expect(store.errorUpdateCount == 2)
      #expect(!store.isInvalidated)
      store.invalidate()
    }
    try await device.run { client in
      let store = client.store(for: query)
      #expect(store.isInvalidated)
      #expect(coder.encoded.value == encoded)
      // Another value is coded, and an error after it is beside that.
      store.currentValue = "entered"
      try await device.storage.flush()
      _ = try? await store.fetch()
    }
    let store = device.client().store(for: query)
    #expect(store.currentValue == "entered")
    #expect(store.errorUpdateCount == 3)
    #expect(coder.encoded.value == encoded + 1)
  }

  @Test(arguments: StorageUnderTest.onDisk)
  func aConfirmationNeverLandsOnAnotherProcessesValue(_ kind: StorageUnderTest) async throws {
    let first = try Device(kind)
    let second = try Device(kind, folder: first.folder)
    let server = VersionedServer()
    let query = server.query.persisted()
    let store = first.client().store(for: query)
    try await store.fetch()
    try await first.storage.flush()
    // Asked by the first, whose answer waits; meanwhile the second stores a newer value.
    server.gate.close()
    let slow = Task { try await store.fetch() }
    await server.gate.arrival(2)
    second.client().store(for: query).currentValue = "by the second"
    try await second.storage.flush()
    server.gate.open()
    _ = try await slow.value
    try await first.storage.flush()
    try await first.storage.close()
    try await second.storage.close()
    let third = try Device(kind, folder: first.folder)
    let last = third.client().store(for: query)
    server.answers.removeAll()
    let shown = last.currentValue
    try await last.fetch()
    let isUnchanged = server.answers.elements == ["unchanged"]
    #expect(last.currentValue == "one")
    #expect(!isUnchanged || shown == "one", "a validator beside a value that it is not of")
  }

  @Test(arguments: StorageUnderTest.onDisk, [false, true])
  func anErrorNeverReplacesAnotherProcessesValue(
    _ kind: StorageUnderTest, isInvalidation: Bool
  ) async throws {
    let first = try Device(kind)
    let second = try Device(kind, folder: first.folder)
    let query = self.failing.persisted()
    let store = first.client().store(for: query)
    store.currentValue = "by the first"
    try await first.storage.flush()
    second.client().store(for: query).currentValue = "by the second"
    try await second.storage.flush()
    if isInvalidation { store.invalidate() } else { _ = try? await store.fetch() }
    try await first.storage.flush()
    #expect(store.currentValue == "by the first")
    // Once more, from a process that has seen it refused.
    _ = try? await store.fetch()
    try await first.storage.close()
    try await second.storage.close()
    let last = try Device(kind, folder: first.folder).client().store(for: query)
    #expect(last.currentValue == "by the second")
    #expect(last.error == nil)
    #expect(last.isInvalidated == isInvalidation)
  }

  @Test(arguments: StorageUnderTest.onDisk)
  func aStoreWhoseErrorWasNotWrittenTakesTheValueInItsPlace(_ kind: StorageUnderTest) async throws {
    var settings = Device.Settings()
    settings.followsOtherProcesses = true
    let first = try Device(kind, settings)
    let second = try Device(kind, folder: first.folder)
    let query = self.failing.persisted()
    let store = first.client().store(for: query)
    store.currentValue = "by the first"
    try await first.storage.flush()
    // It keeps failing, so that a change of its own may wait at any moment.
    let failing = Task {
      while !Task.isCancelled {
        _ = try? await store.fetch()
        // Nothing in there waits, and other tests need the threads.
        await Task.yield()
      }
    }
    second.client().store(for: query).currentValue = "by the second"
    try await second.storage.flush()
    #expect(await store.states.contains { $0.state.currentValue == "by the second" })
    failing.cancel()
    _ = await failing.value
    try await first.storage.close()
    try await second.storage.close()
  }

  @Test(arguments: StorageUnderTest.allCases, [false, true])
  func anErrorOfOneStoreReplacesNoValueOfAnother(
    _ kind: StorageUnderTest, isInvalidation: Bool
  ) async throws {
    let device = try Device(kind)
    let query = self.failing.persisted()
    let client = device.client()
    let (one, other) = (client.store(for: query), device.client().store(for: query))
    one.currentValue = "by one"
    try await device.storage.flush()
    other.currentValue = "by the other"
    if isInvalidation { one.invalidate() } else { _ = try? await one.fetch() }
    try await device.relaunch()
    let last = device.client().store(for: query)
    #expect(last.currentValue == "by the other")
    #expect(last.error == nil)
    #expect(last.isInvalidated == isInvalidation)
  }

  private var failing: BlockQuery<String> {
    BlockQuery(["value"]) { _ in throw TestError() }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func tooMuchMetadataIsDroppedWithAWarning(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let query = BlockQuery<Int>(["long"]) { context, continuation in
      let count = context.storedValue?.metadata?.count ?? 0
      return continuation.returning(count, metadata: Data(repeating: 1, count: 5_000))
    }
    let store = device.client().store(for: query.persisted())
    try await withExpectedWarnings([.metadataTooLong(bytes: 5_000), .metadataTooLong(bytes: 5_000)])
    {
      try await store.fetch()
      try await store.fetch()
    }
    #expect(store.currentValue == 0)
  }
}

// MARK: - Servers

/// A server that has a text and its version, and tells who knows the version that nothing changed.
private final class VersionedServer: Sendable {
  let answers = Recorder<String>()
  let gate = Gate()
  private let state = Locked((text: "one", version: 1))
  private let freshFor: Duration?

  init(freshFor: Duration? = nil) {
    self.freshFor = freshFor
    self.gate.open()
  }

  func set(_ text: String) { self.state.withLock { $0 = (text, $0.version + 1) } }

  var query: BlockQuery<String> {
    BlockQuery(["versioned"]) { context, continuation in
      let known = context.storedValue?.metadata
      try await self.gate.pass()
      let (text, version) = self.state.withLock { $0 }
      if known == Data("\(version)".utf8) {
        self.answers.append("unchanged")
        return try continuation.unchanged(freshFor: self.freshFor)
      }
      self.answers.append("full")
      return continuation.returning(
        text, metadata: Data("\(version)".utf8), freshFor: self.freshFor)
    }
  }
}

/// Three pages, each with its version as its text.
private final class VersionedPages: Sendable {
  let answers = Recorder<String>()
  private let versions = Locked([0, 0, 0])

  func raise(_ page: Int) { self.versions.withLock { $0[page] += 1 } }

  var query: Query { Query(server: self) }

  fileprivate struct Query: InfiniteQueryRequest {
    let server: VersionedPages
    let initialPageId = 0
    var path: QueryPath { ["versioned pages"] }

    func pageId(
      after page: InfiniteQueryPage<Int, String>,
      using paging: InfiniteQueryPaging<Int, String>,
      in context: QueryContext
    ) -> Int? { page.id < 2 ? page.id + 1 : nil }

    func fetchPage(
      using paging: InfiniteQueryPaging<Int, String>,
      in context: QueryContext,
      with continuation: QueryContinuation<String>
    ) async throws -> String {
      let id = paging.pageId
      let version = self.server.versions.withLock { "\($0[id])" }
      let metadata = Data("\(id) \(version)".utf8)
      if context.storedValue?.metadata == metadata {
        self.server.answers.append("same \(id)")
        return try continuation.unchanged()
      }
      self.server.answers.append("full \(id)")
      return continuation.returning(version, metadata: metadata)
    }
  }
}

/// JSON, and how often values were coded.
private struct CountingCoder: QueryCoder {
  let encoded = Counter()
  let name = "json"

  func encode<Value: Encodable>(_ value: Value) throws -> Data {
    self.encoded.increment()
    return try JSONEncoder().encode(value)
  }

  func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    try JSONDecoder().decode(type, from: data)
  }
}
