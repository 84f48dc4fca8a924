import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

// MARK: - Identity

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func pathsThatAreToldApartAreStoredApart(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let megabyte = String(repeating: "x", count: 1 << 20)
    let paths: [QueryPath] = [
      [], [""], ["", ""], [1], ["1"], [true], [1.5], ["a", "b"], ["a,b"], [["a", "b"]],
      ["\0"], ["\0\0"], ["a\0b"], ["\""], ["\\"], ["\\\""], ["'"], ["'; DROP TABLE entry; --"],
      ["%"], ["_"], ["👩‍👩‍👧"], ["👩"], ["\u{feff}"], ["\n"], ["\u{2028}"], [megabyte], [megabyte + "y"],
    ]
    try await device.run { client in
      for (index, path) in paths.enumerated() {
        client.store(for: StoredQuery(path) { 0 }.persisted()).currentValue = index
      }
    }
    #expect(device.storage.statistics.entries == paths.count)
    let client = device.client()
    for (index, path) in paths.enumerated() {
      let store = client.store(for: StoredQuery(path) { 0 }.persisted())
      // An entry with so much identity may be a large one.
      await store.hydrated()
      #expect(store.currentValue == index, "the path at \(index)")
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func equalPathsAreOneEntry(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      client.store(for: StoredQuery(["caf\u{e9}", 1.0]) { 0 }.persisted()).currentValue = 5
    }
    let store = device.client().store(for: StoredQuery(["cafe\u{301}", 1]) { 0 }.persisted())
    #expect(store.currentValue == 5)
    #expect(device.storage.statistics.entries == 1)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func unequalPathsOfOneTextAreNotBothPersisted(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let (first, second): (QueryPath, QueryPath) = (
      [Twin(id: 1, isHidden: false)],
      [
        Twin(id: 1, isHidden: true)
      ]
    )
    #expect(first != second)
    let identity = try QueryIdentity(path: first)
    let client = device.client()
    let living = client.store(for: StoredQuery(first) { 1 }.persisted())
    living.currentValue = 5
    try await withExpectedWarnings([.sameIdentity(identity: identity, paths: (first, second))]) {
      let other = client.store(for: StoredQuery(second) { 2 }.persisted())
      #expect(other.currentValue == nil)
      let fetched = try await other.fetch()
      #expect(fetched == 2)
      other.reset()
    }
    try await device.relaunch()
    #expect(device.client().store(for: StoredQuery(first) { 1 }.persisted()).currentValue == 5)
    withExtendedLifetime(living) {}
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anIdentityOfOnesOwnTellsThemApart(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let options = PersistenceOptions(identity: QueryIdentity(canonicalText: "hidden\0 '\" 👩"))
    let visible = StoredQuery([Twin(id: 1, isHidden: false)]) { 1 }.persisted()
    let hidden = StoredQuery([Twin(id: 1, isHidden: true)]) { 1 }.persisted(options)
    try await device.run { client in
      client.store(for: visible).currentValue = 5
      client.store(for: hidden).currentValue = 6
    }
    #expect(device.client().store(for: visible).currentValue == 5)
    #expect(device.client().store(for: hidden).currentValue == 6)
  }

  /// Swift takes their texts for equal.
  @Test(arguments: StorageUnderTest.allCases)
  func identitiesOfOtherBytesAreStoredApart(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let texts = ["caf\u{e9}", "cafe\u{301}", "\u{212a}", "K"]
    let queries = texts.enumerated().map { index, text in
      StoredQuery(["of its own", index]) { 0 }.persisted(
        PersistenceOptions(identity: QueryIdentity(canonicalText: text)))
    }
    let client = device.client()
    let stores = queries.map { client.store(for: $0) }
    for (index, store) in stores.enumerated() { store.currentValue = index }
    try await device.relaunch()
    #expect(device.storage.statistics.entries == texts.count)
    let next = device.client()
    #expect(queries.map { next.store(for: $0).currentValue } == [0, 1, 2, 3])
    withExtendedLifetime(stores) {}
  }

  // The process warns once of a path, whichever storage it is for.
  @Test(.serialized, arguments: StorageUnderTest.allCases)
  func aPathThatIsNotRepresentableWorksWithOneWarning(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let path: QueryPath = [OnlyInContract { 1 }]
    let error = try #require(throws: QueryIdentityError.self) { try QueryIdentity(path: path) }
    PersistenceWarnings.forget("\(error)")
    let query = StoredQuery(path) { 3 }
    let name = query._debugTypeName
    try await withExpectedWarnings([.noIdentity(query: name, error: error)]) {
      let first = device.client().store(for: query.persisted())
      let fetched = try await first.fetch()
      #expect(fetched == 3)
      first.reset()
      first.invalidate()
      let second = device.client().store(for: query.persisted())
      #expect(second.currentValue == nil)
    }
    #expect(device.storage.statistics.entries == 0)
    let options = PersistenceOptions(identity: QueryIdentity(canonicalText: "mine"))
    try await device.run { client in
      client.store(for: query.persisted(options)).currentValue = 4
    }
    #expect(device.client().store(for: query.persisted(options)).currentValue == 4)
  }
}

/// Two of these differ by what their coding leaves out.
private struct Twin: Hashable, Codable {
  let id: Int
  var isHidden: Bool

  private enum CodingKeys: CodingKey {
    case id
  }

  init(id: Int, isHidden: Bool) {
    self.id = id
    self.isHidden = isHidden
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(id: try container.decode(Int.self, forKey: .id), isHidden: false)
  }
}

/// Holds a closure, and no other test has one in a path.
private struct OnlyInContract: Hashable, Sendable {
  let closure: @Sendable () -> Int

  init(_ closure: @escaping @Sendable () -> Int) { self.closure = closure }

  static func == (lhs: Self, rhs: Self) -> Bool { true }

  func hash(into hasher: inout Hasher) {}
}
