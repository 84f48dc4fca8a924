import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query

// MARK: - Errors and invalidations beside what others have stored

/// How a store says something of its query, but nothing of the value.
enum Note: String, CaseIterable, CustomTestStringConvertible {
  case error
  case invalidation

  var testDescription: String { self.rawValue }

  func write(to store: QueryStore<some QueryStateProtocol>) async {
    switch self {
    case .error: _ = try? await store.fetch()
    case .invalidation: store.invalidate()
    }
  }
}

extension StorageContractTests {
  /// Two applications on one folder, or two clients of one.
  func pair(
    _ kind: StorageUnderTest, _ isOneProcess: Bool
  ) throws -> (Device, Device, QueryClient, QueryClient) {
    let first = try Device(kind)
    let second = isOneProcess ? first : try Device(kind, folder: first.folder)
    return (first, second, first.client(), second.client())
  }

  static let pairs: [(StorageUnderTest, Bool)] =
    StorageUnderTest.allCases.map { ($0, true) } + StorageUnderTest.onDisk.map { ($0, false) }

  func last(_ first: Device, _ second: Device) async throws -> QueryClient {
    if second !== first { try await second.relaunch() }
    try await first.relaunch()
    return first.client()
  }

  private var failing: BlockQuery<String> {
    BlockQuery(["value"]) { _ in throw TestError() }
  }

  @Test(arguments: Self.pairs, Note.allCases)
  func aStoreWithoutAValueReplacesNone(_ pair: (StorageUnderTest, Bool), _ note: Note) async throws
  {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let query = self.failing.persisted()
    let empty = one.store(for: query)
    other.store(for: query).currentValue = "by the other"
    try await second.storage.flush()
    await note.write(to: empty)
    try await first.storage.flush()
    await note.write(to: empty)
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue == "by the other")
    #expect(last.isInvalidated == (note == .invalidation))
    #expect(last.error == nil)
  }

  @Test(arguments: Self.pairs)
  func aListWithoutPagesReplacesNone(_ pair: (StorageUnderTest, Bool)) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let query = NumberPages().persisted()
    let empty = one.store(for: query)
    try await other.store(for: query).fetchNextPage()
    try await second.storage.flush()
    empty.setResult(to: .failure(TestError()))
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue.map(\.value) == ["page 0"])
  }

  @Test(arguments: StorageUnderTest.allCases)
  func anErrorOfAQueryThatHasNothingIsStored(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let query = self.failing.persisted()
    try await device.run { client in _ = try? await client.store(for: query).fetch() }
    let store = device.client().store(for: query)
    #expect(store.currentValue == nil)
    #expect(store.error != nil)
    #expect(store.errorUpdateCount == 1)
  }

  @Test(arguments: Self.pairs)
  func anErrorTakesNoInvalidationBack(_ pair: (StorageUnderTest, Bool)) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let query = self.failing.persisted()
    other.store(for: query).currentValue = "value"
    try await second.storage.flush()
    let store = one.store(for: query)
    #expect(store.currentValue == "value")
    other.store(for: query).invalidate()
    try await second.storage.flush()
    _ = try? await store.fetch()
    let last = try await self.last(first, second).store(for: query)
    #expect(last.isInvalidated)
    #expect(last.error != nil)
  }

  @Test(arguments: Self.pairs)
  func anInvalidationTakesNoErrorBack(_ pair: (StorageUnderTest, Bool)) async throws {
    let (first, second, one, other) = try self.pair(pair.0, pair.1)
    let query = self.failing.persisted()
    other.store(for: query).currentValue = "value"
    try await second.storage.flush()
    let store = one.store(for: query)
    _ = try? await other.store(for: query).fetch()
    try await second.storage.flush()
    store.invalidate()
    let last = try await self.last(first, second).store(for: query)
    #expect(last.isInvalidated)
    #expect(last.error != nil)
    #expect(last.errorUpdateCount == 1)
  }

  @Test(arguments: StorageUnderTest.onDisk)
  func anErrorTakesNoConfirmationBack(_ kind: StorageUnderTest) async throws {
    let (first, second, one, other) = try self.pair(kind, false)
    let query = BlockQuery<String>(["value"]) { context, continuation in
      if context.storedValue != nil { return try continuation.unchanged(freshFor: .seconds(1)) }
      return continuation.returning("value", metadata: Data("1".utf8), freshFor: .seconds(1_000))
    }
    .persisted()
    try await other.store(for: query).fetch()
    try await second.storage.flush()
    let store = one.store(for: query)
    second.clock.advance(by: 100)
    try await other.store(for: query).fetch()
    try await second.storage.flush()
    store.setResult(to: .failure(TestError()))
    let last = try await self.last(first, second).store(for: query)
    let date = try #require(last.valueLastUpdatedAt)
    #expect(abs(date.timeIntervalSince(second.clock.now())) < 0.001)
    #expect(last.valueUpdateCount == 2)
    #expect(last.error != nil)
  }

  /// A number beyond what the files have for one would be read as damage.
  @Test(arguments: StorageUnderTest.onDisk)
  func aValueMayBeFreshForEver(_ kind: StorageUnderTest) async throws {
    let (first, second, _, other) = try self.pair(kind, false)
    let query = BlockQuery<String>(["value"]) { _, continuation in
      continuation.returning("value", metadata: nil, freshFor: .seconds(Int64.max))
    }
    .stale(after: .seconds(1)).persisted()
    try await other.store(for: query).fetch()
    try await second.storage.flush()
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue == "value")
    #expect(!last.isStale)
  }

  @Test(arguments: StorageUnderTest.onDisk)
  func anErrorOfAnUpgradedValueReplacesNone(_ kind: StorageUnderTest) async throws {
    let (first, second, one, other) = try self.pair(kind, false)
    other.store(for: self.failing.persisted()).currentValue = "old"
    try await second.storage.flush()
    let query = self.failing.persisted(
      PersistenceOptions(version: 2, upgrade: { data, _ in data }))
    let store = one.store(for: query)
    #expect(store.currentValue == "old")
    let newer = second.client().store(for: query)
    newer.currentValue = "new"
    try await second.storage.flush()
    _ = try? await store.fetch()
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue == "new")
  }

  @Test(arguments: StorageUnderTest.onDisk, Note.allCases)
  func whatAnotherProcessHasRemovedStaysRemoved(
    _ kind: StorageUnderTest, _ note: Note
  ) async throws {
    let (first, second, one, other) = try self.pair(kind, false)
    let query = self.failing.persisted()
    let removed = other.store(for: query)
    removed.currentValue = "value"
    try await second.storage.flush()
    let store = one.store(for: query)
    #expect(store.currentValue == "value")
    removed.reset()
    try await second.storage.flush()
    await note.write(to: store)
    let last = try await self.last(first, second).store(for: query)
    #expect(last.currentValue == nil)
    #expect(last.error == nil)
  }

  /// A store that is made while an error of another, empty one waits begins with what is stored.
  @Test func anErrorThatWaitsHidesNoValue() async throws {
    let (first, second, one, other) = try self.pair(.sqlite, false)
    let query = self.failing.persisted()
    let empty = one.store(for: query)
    #expect(empty.currentValue == nil)
    other.store(for: query).currentValue = "by the other"
    try await second.storage.flush()
    _ = try? await empty.fetch()
    #expect(first.client().store(for: query).currentValue == "by the other")
  }

  /// An error that comes while the value waits does not keep it from being written.
  @Test(arguments: StorageUnderTest.allCases)
  func aValueIsWrittenWithTheErrorAfterIt(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let query = self.failing.persisted()
    try await device.run { client in
      let store = client.store(for: query)
      store.currentValue = "value"
      _ = try? await store.fetch()
      store.reset()
      _ = try? await store.fetch()
      store.currentValue = "again"
      _ = try? await store.fetch()
      store.invalidate()
    }
    let store = device.client().store(for: query)
    #expect(store.currentValue == "again")
    #expect(store.error != nil)
    #expect(store.isInvalidated)
  }
}

struct NumberPages: InfiniteQueryRequest {
  let initialPageId = 0
  let path: QueryPath = ["numbers"]

  func pageId(
    after page: InfiniteQueryPage<Int, String>, using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? { page.id + 1 }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>, in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String { "page \(paging.pageId)" }
}
