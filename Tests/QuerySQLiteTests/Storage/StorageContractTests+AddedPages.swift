import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

// MARK: - Pages that come beside others

/// Pages of which the server lets none be stored by its first one.
private struct UnstoredPages: InfiniteQueryRequest {
  /// What the request does with the pages after the first.
  enum Later: CaseIterable {
    case saysNothing, yields, allowsStoring
  }

  let path: QueryPath = ["unstored"]
  let initialPageId = 0
  let later: Later
  let last: Int
  let gate: Gate

  func pageId(
    after page: InfiniteQueryPage<Int, String>, using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? {
    page.id < self.last ? page.id + 1 : nil
  }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>, in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    let value = "page \(paging.pageId)"
    if paging.pageId == 0 {
      try await self.gate.pass()
      return continuation.returning(
        value, metadata: Data("tag".utf8), freshFor: .seconds(60), isStored: false)
    }
    switch self.later {
    case .saysNothing: return value
    case .yields:
      continuation.yield("a part")
      return continuation.returning(value, metadata: nil, freshFor: .seconds(60))
    case .allowsStoring:
      return continuation.returning(value, metadata: nil, freshFor: .seconds(60))
    }
  }
}

/// Each attempt at the second page yields a part of it, and the first ones fail.
private struct UnsteadyPages: InfiniteQueryRequest {
  let path: QueryPath = ["unsteady"]
  let initialPageId = 0
  let failures: Int

  func pageId(
    after page: InfiniteQueryPage<Int, String>, using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? { page.id + 1 }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>, in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    if paging.pageId == 1 {
      continuation.yield("part \(context.retryIndex)")
      if context.retryIndex < self.failures { throw TestError() }
    }
    return "page \(paging.pageId)"
  }
}

extension StorageContractTests {
  @Test(arguments: StorageUnderTest.allCases, [1, 3])
  func aPageThatIsTriedAgainIsThereOnceAtTheNextLaunch(
    _ kind: StorageUnderTest, _ failures: Int
  ) async throws {
    let device = try Device(kind)
    let query = UnsteadyPages(failures: failures).retry(limit: 2).backoff(.noBackoff)
      .delayer(.noDelay).persisted()
    // What was yielded stays if all attempts fail.
    let values = ["page 0", failures == 1 ? "page 1" : "part 2"]
    try await device.run { client in
      let store = client.store(for: query)
      try await store.fetchNextPage()
      let page = try? await store.fetchNextPage()
      #expect(page?.value == (failures == 1 ? "page 1" : nil))
      #expect(store.currentValue.map(\.value) == values)
    }
    try await device.run { client in
      let store = client.store(for: query)
      await store.hydrated()
      #expect(store.currentValue.map(\.value) == values)
      try await store.fetchNextPage()
      #expect(store.currentValue.map(\.value) == values + ["page 2"])
    }
  }

  /// It waits for the first page, and finds that there is no other.
  @Test(arguments: StorageUnderTest.allCases)
  func aFetchThatFindsNoPageChangesNothingOfTheOthers(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let query = UnstoredPages(later: .saysNothing, last: 0, gate: Gate())
    let store = device.client().store(for: query.persisted())
    async let first = store.fetch()
    await query.gate.arrival()
    let task = store.fetchNextPageTask()
    let next = Task { try await task.runIfNeeded() }
    while store.initialPageActiveTasks.count + store.nextPageActiveTasks.count < 2 {
      await Task.yield()
    }
    query.gate.open()
    _ = try await (first, next.value)
    #expect(store.currentValue.map(\.value) == ["page 0"])
    #expect(!store.isStale, "it is fresh for a minute")
    try await device.storage.flush()
    #expect(device.storage.statistics.entries == 0, "the server has forbidden it")
  }

  @Test(arguments: StorageUnderTest.allCases, UnstoredPages.Later.allCases)
  private func aPageThatIsAddedDoesNotStoreTheOthers(
    _ kind: StorageUnderTest, _ later: UnstoredPages.Later
  ) async throws {
    let device = try Device(kind)
    let query = UnstoredPages(later: later, last: 1, gate: Gate())
    query.gate.open()
    let store = device.client().store(for: query.persisted())
    try await store.fetchNextPage()
    try await store.fetchNextPage()
    #expect(store.currentValue.map(\.value) == ["page 0", "page 1"])
    try await device.storage.flush()
    #expect(device.storage.statistics.entries == 0)
  }

  /// Without them it would take the list for empty, and what it brings for all of it.
  @Test(.timeLimit(.minutes(5))) func aFetchOfPagesWaitsForThoseThatComeLate() async throws {
    // One after the other: each keeps one of the few threads that all tasks share.
    for kind in StorageUnderTest.allCases {
      for number in 0..<3 { try await self.fetchLatePages(kind, number) }
    }
  }

  @MainActor private func fetchLatePages(_ kind: StorageUnderTest, _ number: Int) async throws {
    let (device, store, door) = try await self.latePages(kind)
    let fetch = Task { @MainActor in
      switch number {
      case 0: _ = try await store.fetchAllPages()
      case 1: _ = try await store.fetch()
      default: _ = try await store.fetchNextPage()
      }
    }
    while !store.isLoading, store.valueUpdateCount == 0 { await Task.yield() }
    door.open()
    try await fetch.value
    let pages = textPages(0...(number < 2 ? 4 : 5))
    #expect(store.currentValue == pages)
    try await device.relaunch()
    let next = device.client().store(for: StoredPages().persisted())
    await next.hydrated()
    #expect(next.currentValue == pages)
  }

  /// Whatever the client's cache is: the store is in none yet.
  @Test(arguments: StorageUnderTest.allCases)
  func aStoreThatIsMadeByHandLearnsWhatIsInvalidatedMeanwhile(_ kind: StorageUnderTest) async throws
  {
    let device = try Device(kind)
    let query = StoredQuery(["a"]) { 0 }.stale(after: 3_600).persisted()
    try await device.run { client in client.store(for: query).currentValue = 1 }
    let client = device.client()
    client.withStores { stores, create in
      let store = create(for: query)
      client.invalidate(matching: [])
      stores.update(OpaqueQueryStore(erasing: store))
    }
    let store = client.store(for: query)
    #expect(store.currentValue == 1)
    #expect(store.isInvalidated)
  }
}
