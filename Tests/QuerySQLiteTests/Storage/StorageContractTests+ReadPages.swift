import StorageTestSupport
import TestSupport
import Testing

@testable import Query

// MARK: - Pages that were read before they are fetched

/// Looks at the page that is stored, and says nothing of the one that it returns.
private struct SilentPages: InfiniteQueryRequest {
  let round: Locked<Int>
  let initialPageId = 0
  var path: QueryPath { ["silent pages"] }

  func pageId(
    after page: InfiniteQueryPage<Int, String>, using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? { page.id < 1 ? page.id + 1 : nil }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>, in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    let known = context.storedValue == nil ? "first" : "again"
    return "\(known) \(self.round.withLock { $0 })"
  }
}

extension StorageContractTests {
  /// Only of a page that the request calls unchanged is what is stored left as it is.
  @Test(arguments: StorageUnderTest.allCases)
  func aPageThatWasReadAndIsReturnedWithoutAWordIsStored(_ kind: StorageUnderTest) async throws {
    let device = try Device(kind)
    let round = Locked(1)
    let query = SilentPages(round: round).persisted()
    try await device.run { client in
      let store = client.store(for: query)
      for _ in 0..<2 { try await store.fetchNextPage() }
    }
    for number in 2...3 {
      round.withLock { $0 = number }
      try await device.run { client in
        let store = client.store(for: query)
        let before = number == 2 ? "first 1" : "again 2"
        #expect(store.currentValue.map(\.value) == [before, before])
        try await store.fetch()
        #expect(store.currentValue.map(\.value) == ["again \(number)", "again \(number)"])
      }
    }
    let store = device.client().store(for: query)
    #expect(store.currentValue.map(\.value) == ["again 3", "again 3"])
  }
}
