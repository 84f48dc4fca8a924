import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - What a program may do wrong

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func aCoderThatThrowsLeavesWhatWasStored(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let path: QueryPath = ["not coded", UUID().uuidString]
    let identity = try QueryIdentity(path: path)
    try await device.run { client in
      client.store(for: StoredQuery(path) { 1 }.persisted()).currentValue = 5
    }
    let failing = PersistenceOptions(coder: FailingCoder(failsToEncode: true))
    let warning = QueryWarning.valueNotEncoded(identity: identity, error: TestError("not coded"))
    try await withExpectedWarnings([warning], about: identity.text) {
      let store = device.client().store(for: StoredQuery(path) { 1 }.persisted(failing))
      #expect(store.currentValue == 5)
      store.currentValue = 6
      try await device.storage.flush()
      #expect(store.currentValue == 6)
    }
    try await device.relaunch()
    let store = device.client().store(for: StoredQuery(path) { 1 }.persisted())
    #expect(store.currentValue == 5)
    #expect(store.valueUpdateCount == 1)
    #expect(device.storage.statistics.entries == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aChangeThatDoesNotCodeDoesNotHideWhatIsStoredForLong(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let path: QueryPath = ["not coded", UUID().uuidString]
    let identity = try QueryIdentity(path: path)
    try await device.run { client in
      client.store(for: StoredQuery(path) { 1 }.persisted()).currentValue = 5
    }
    let failing = PersistenceOptions(coder: FailingCoder(failsToEncode: true))
    let warning = QueryWarning.valueNotEncoded(identity: identity, error: TestError("not coded"))
    try await withExpectedWarnings([warning], about: identity.text) {
      let coder = GatedCoder(encoding: Door())
      let busy = StoredQuery(["busy"]) { 1 }.persisted(PersistenceOptions(coder: coder))
      let keeper = device.client().store(for: busy)
      keeper.currentValue = 0
      await coder.encoded.wait(forCount: 1)
      device.client().store(for: StoredQuery(path) { 1 }.persisted(failing)).currentValue = 6
      // Its change waits, and will never be written. A store that is made now takes it as it is; one
      // that is made when it was given up shows what is stored, and an error beside it does not take
      // its place.
      let failing = StoredQuery<Int>(path) { throw TestError("no network") }
      #expect(device.client().store(for: failing.persisted()).currentValue == 6)
      coder.encoding.open()
      try await device.storage.flush()
      let store = device.client().store(for: failing.persisted())
      #expect(store.currentValue == 5)
      await #expect(throws: TestError.self) { try await store.fetch() }
    }
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery(path) { 1 }.persisted()).currentValue == 5)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func valuesOfAllShapesComeBack(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let texts = ["", "\0", "a\0b", "\"", "'", "\\", "👩‍👩‍👧", "\u{feff}", "caf\u{e9}", "\r\n"]
    for coder in [any QueryCoder](arrayLiteral: .json, .propertyList) {
      let options = PersistenceOptions(coder: coder)
      try await device.run { client in
        for (index, text) in texts.enumerated() {
          let query = StoredQuery([coder.name, index]) { "" }
          client.store(for: query.persisted(options)).currentValue = text
        }
        let megabyte = StoredQuery([coder.name, "data"]) { Data() }
        client.store(for: megabyte.persisted(options)).currentValue = Data(0...255)
        let numbers = StoredQuery([coder.name, "numbers"]) { [Double]() }
        client.store(for: numbers.persisted(options)).currentValue = [.infinity, -0.0, 0.1, 1e308]
      }
      let client = device.client()
      for (index, text) in texts.enumerated() {
        let store = client.store(for: StoredQuery([coder.name, index]) { "" }.persisted(options))
        let found = try #require(store.currentValue)
        #expect(Array(found.utf8) == Array(text.utf8), "\(coder.name) \(text.debugDescription)")
      }
      let data = StoredQuery([coder.name, "data"]) { Data() }
      #expect(client.store(for: data.persisted(options)).currentValue == Data(0...255))
      let numbers = StoredQuery([coder.name, "numbers"]) { [Double]() }
      let found = client.store(for: numbers.persisted(options)).currentValue
      #expect(found == [.infinity, -0.0, 0.1, 1e308])
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func largeValuesAndManyPagesComeBack(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let large = String(repeating: "0123456789abcdef", count: 1 << 17)
    let pages = InfiniteQueryPages<Int, String>(
      uniqueElements: (0..<1_000).map { InfiniteQueryPage(id: $0, value: "\($0)") })
    try await device.run { client in
      client.store(for: StoredQuery { "" }.persisted()).currentValue = large
      client.store(for: StoredPages().persisted()).currentValue = pages
    }
    let client = device.client()
    let store = client.store(for: StoredQuery { "" }.persisted())
    await store.hydrated()
    #expect(store.currentValue == large)
    let list = client.store(for: StoredPages().persisted())
    await list.hydrated()
    #expect(list.currentValue == pages)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anErrorsTextMayBeAnything(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let names = ["", "\0", "a\0b'\"", "👩‍👩‍👧", String(repeating: "x", count: 100_000)]
    for (index, name) in names.enumerated() {
      let query = StoredQuery(["n", index]) { 1 }
      try await device.run { client in
        client.store(for: query.persisted()).setResult(to: .failure(TestError(name)))
      }
      let error = device.client().store(for: query.persisted()).error as? RestoredError
      #expect(error == RestoredError(TestError(name)))
      #expect(error.map { $0.text.count <= 2_000 } == true)
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func datesBeyondAllReasonDoNotCrash(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let dates = [
      Date.distantPast, .distantFuture, Date(timeIntervalSince1970: 0),
      Date(timeIntervalSince1970: -0.5), Date(timeIntervalSince1970: 1e300),
      Date(timeIntervalSince1970: -.infinity), Date(timeIntervalSince1970: .nan),
    ]
    let options = PersistenceOptions(maxAge: .seconds(Int64.max))
    try await device.run { client in
      for (index, date) in dates.enumerated() {
        let query = StoredQuery(["n", index]) { 1 }.clock(.timeFreeze(date)).persisted(options)
        client.store(for: query).currentValue = index
      }
    }
    let client = device.client()
    for index in dates.indices {
      let store = client.store(for: StoredQuery(["n", index]) { 1 }.persisted())
      #expect(store.currentValue == index)
      #expect(store.valueUpdateCount == 1)
    }
    for (index, date) in dates.prefix(4).enumerated() {
      let store = client.store(for: StoredQuery(["n", index]) { 1 }.persisted())
      let found = try #require(store.valueLastUpdatedAt)
      #expect(found <= date)
      #expect(date.timeIntervalSince(found) < 0.000_01)
    }
  }

  @Test(arguments: StorageUnderTest.onDisk)
  func aValueThatIsTooLargeLeavesWhatWasStored(_ kind: StorageUnderTest) async throws {
    var settings = Device.Settings()
    settings.maximumValueBytes = 1_000
    let device = try Device(kind, settings)
    let path: QueryPath = ["too large", UUID().uuidString]
    let identity = try QueryIdentity(path: path)
    try await device.run { client in
      client.store(for: StoredQuery(path) { "" }.persisted()).currentValue = "small"
    }
    // A hundred megabytes, with the two quotes of JSON.
    let huge = String(repeating: "0123456789", count: 10_000_000)
    let warning = QueryWarning.valueTooLarge(
      identity: identity, bytes: 100_000_002, limit: 1_000)
    try await withExpectedWarnings([warning], about: identity.text) {
      let store = device.client().store(for: StoredQuery(path) { "" }.persisted())
      store.currentValue = huge
      try await device.relaunch()
    }
    let store = device.client().store(for: StoredQuery(path) { "" }.persisted())
    #expect(store.currentValue == "small")
    #expect(!device.storage.statistics.isDegraded)
  }
}
