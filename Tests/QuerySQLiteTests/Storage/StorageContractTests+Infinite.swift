import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

// MARK: - Infinite queries

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases)
  func pagesComeBackInOrderWithWhatIsBesideThem(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredPages().persisted())
      for _ in 0..<4 { try await store.fetchNextPage() }
      for _ in 0..<3 { try await store.fetchPreviousPage() }
    }
    let query = StoredPages()
    let store = device.client().store(for: query.persisted().stale(after: 60))
    #expect(store.currentValue == textPages(-3...3))
    #expect(store.nextPageId == 4)
    #expect(store.previousPageId == -4)
    #expect(store.hasNextPage)
    #expect(store.hasPreviousPage)
    #expect(store.valueUpdateCount == 7)
    #expect(!store.isLoading)
    #expect(!store.isStale)
    let date = try #require(store.valueLastUpdatedAt)
    #expect(store.origin == .storage(storedAt: date))
    #expect(query.calls.value == 0)
    try await store.fetchNextPage()
    try await store.fetchPreviousPage()
    #expect(query.calls.value == 2, "it goes on from there")
    try await device.relaunch()
    #expect(device.client().store(for: query.persisted()).currentValue == textPages(-4...4))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func theLastPageIsRememberedAsTheLast(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredPages().persisted())
      for _ in 0..<10 { try await store.fetchNextPage() }
    }
    let query = StoredPages()
    let store = device.client().store(for: query.persisted())
    #expect(store.currentValue == textPages(0...9))
    #expect(!store.hasNextPage)
    #expect(store.hasPreviousPage)
    #expect(try await store.fetchNextPage() == nil)
    #expect(query.calls.value == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func pagesThatWereReplacedAndRemovedByHandAre(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredPages().persisted())
      for _ in 0..<5 { try await store.fetchNextPage() }
    }
    var expected = textPages(0...4)
    expected.remove(id: 2)
    expected[id: 3]?.value = "by hand"
    expected.append(InfiniteQueryPage(id: 17, value: "new"))
    expected.insert(InfiniteQueryPage(id: -5, value: "in front"), at: 0)
    try await device.run { [expected] client in
      client.store(for: StoredPages().persisted()).currentValue = expected
    }
    #expect(device.client().store(for: StoredPages().persisted()).currentValue == expected)
    expected = InfiniteQueryPages(uniqueElements: expected.reversed())
    try await device.run { [expected] client in
      client.store(for: StoredPages().persisted()).currentValue = expected
    }
    let store = device.client().store(for: StoredPages().persisted())
    #expect(store.currentValue == expected)
    store.currentValue = []
    try await device.relaunch()
    let empty = device.client().store(for: StoredPages().persisted())
    #expect(empty.currentValue == [])
    #expect(empty.valueUpdateCount == 8)
    empty.reset()
    try await device.relaunch()
    #expect(device.storage.statistics.entries == 0)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aWalkOfEditsIsWhatIsStoredAfterEachLaunch(_ kind: StorageUnderTest) async throws {
    for seed in SeededGenerator.seeds(3) {
      var generator = SeededGenerator(seed: seed)
      let device = try Device(kind)
      var expected = InfiniteQueryPages<Int, String>()
      for round in 0..<25 {
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          expected.edit(using: &generator, round)
        }
        let pages = expected
        try await device.run { client in
          client.store(for: StoredPages().persisted()).currentValue = pages
        }
        let store = device.client().store(for: StoredPages().persisted())
        #expect(store.currentValue == expected, "SEED=\(seed), round \(round)")
      }
    }
  }

  @Test(arguments: StorageUnderTest.allCases)
  func aPageThatFailsKeepsThePagesAndShowsTheError(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let query = StoredPages { id in
        if id == 2 { throw TestError("page 2") }
        return "page \(id)"
      }
      let store = client.store(for: query.persisted())
      for _ in 0..<2 { try await store.fetchNextPage() }
      await #expect(throws: TestError.self) { try await store.fetchNextPage() }
    }
    let store = device.client().store(for: StoredPages().persisted())
    #expect(store.currentValue == textPages(0...1))
    #expect(store.error as? RestoredError == RestoredError(TestError("page 2")))
    #expect(store.nextPageId == 2)
    try await store.fetchNextPage()
    #expect(store.currentValue == textPages(0...2))
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anInfiniteQuerysDefaultValueLosesInEitherOrder(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      try await client.store(for: StoredPages().persisted()).fetchNextPage()
    }
    let fallback = textPages(5...6)
    let outer = StoredPages().persisted().defaultValue(fallback)
    let inner = StoredPages().defaultValue(fallback).persisted()
    let store = device.client().store(for: outer)
    #expect(store.currentValue == textPages(0...0))
    #expect(device.client().store(for: inner).currentValue == textPages(0...0))
    store.reset()
    #expect(store.currentValue == fallback)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anUpgradeGetsTheValueOfEachPage(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    try await device.run { client in
      let store = client.store(for: StoredPages().persisted())
      for _ in 0..<3 { try await store.fetchNextPage() }
    }
    let options = PersistenceOptions(version: 2) { data, _ in
      let old = try JSONQueryCoder.json.decode(String.self, from: data)
      return try JSONQueryCoder.json.encode(old.uppercased())
    }
    let store = device.client().store(for: StoredPages().persisted(options))
    #expect(store.currentValue.map(\.value) == ["PAGE 0", "PAGE 1", "PAGE 2"])
    #expect(store.nextPageId == 3)
  }

  @Test(arguments: StorageUnderTest.allCases)
  func pagesOfPropertyListsComeBackToo(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let options = PersistenceOptions(coder: .propertyList)
    try await device.run { client in
      let store = client.store(for: StoredPages().persisted(options))
      for _ in 0..<3 { try await store.fetchNextPage() }
    }
    let store = device.client().store(for: StoredPages().persisted(options))
    #expect(store.currentValue == textPages(0...2))
    #expect(store.nextPageId == 3)
  }

  /// What another process invalidates before that is of an older value.
  @Test(arguments: StorageUnderTest.allCases)
  func theFirstPageAloneMakesTheValueAsNewAsItsFetch(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let store = device.client().store(for: StoredPages().persisted())
    store.reset()
    #expect(store.storing?.invalidationsKnownUntil == nil)
    try await store.fetchNextPage()
    let known = store.storing?.invalidationsKnownUntil
    #expect(known != nil)
    try await store.fetchNextPage()
    #expect(store.storing?.invalidationsKnownUntil == known)
  }
}

extension InfiniteQueryPages where Element == InfiniteQueryPage<Int, String> {
  /// Changes the list in one of the ways that a program does.
  fileprivate mutating func edit(using generator: inout SeededGenerator, _ round: Int) {
    let id = Int.random(in: 0..<30, using: &generator)
    let position = Int.random(in: 0...self.count, using: &generator)
    switch Int.random(in: 0..<10, using: &generator) {
    case 0..<6 where !self.contains(id: id):
      self.insert(InfiniteQueryPage(id: id, value: "\(id) of \(round)"), at: position)
    case 0..<8: self[id: id]?.value = "\(id) of \(round)"
    case 8: self.remove(id: id)
    default: self = Self(uniqueElements: self.shuffled(using: &generator))
    }
  }
}
