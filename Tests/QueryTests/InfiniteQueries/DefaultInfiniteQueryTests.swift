import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct DefaultInfiniteQueryTests {
  private let source = PageSource()

  @Test func aStoreStartsWithTheDefaultPages() async throws {
    let query = PagesQuery(self.source).defaultValue(testPages(1...2))
    let store = QueryStore.detached(query: query)
    #expect(store.currentValue == testPages(1...2))
    #expect(store.initialValue == testPages(1...2))
    #expect(store.state.initialPageId == 1)
    try await store.fetch()
    #expect(self.source.ids == [1, 2])
    try await store.fetchNextPage()
    store.reset()
    #expect(store.currentValue == testPages(1...2))
  }

  @Test func theDefaultIsEvaluatedAtEachAccess() {
    let counter = Counter()
    let query = PagesQuery().defaultValue(testPages(1...counter.increment()))
    #expect(query.defaultValue.count == 1)
    #expect(query.defaultValue.count == 2)
    #expect(QueryStore.detached(query: query).currentValue.count == 3)
  }

  @Test func everythingElseIsTheQuerysOwn() async throws {
    let base = PagesQuery(self.source)
    let query = base.defaultValue([])
    let page = TestPage(id: 9, value: 90)
    #expect(query.path == base.path)
    #expect(query._debugTypeName == base._debugTypeName)
    #expect(query.initialPageId == 1)
    let store = QueryStore.detached(query: query)
    try await store.fetch()
    let paging = try #require(self.source.pagings.first)
    #expect(query.pageId(after: page, using: paging, in: QueryContext()) == nil)
    #expect(query.pageId(before: page, using: paging, in: QueryContext()) == 8)
    let value = try await query.fetchPage(
      using: paging,
      in: QueryContext(),
      with: QueryContinuation { _, _ in }
    )
    #expect(value == 10)
  }

  @Test func setupIsTheQuerysOwn() {
    let query = PagesQuery().retry(limit: 7).defaultValue([])
    #expect(QueryStore.detached(query: query).context.maxRetries == 7)
  }

  @Test func modifiersMayFollowTheDefault() async throws {
    let query = PagesQuery(self.source).defaultValue(testPages(1...1)).retry(limit: 2)
      .deduplicated()
    let store = QueryStore.detached(query: query)
    #expect(store.currentValue == testPages(1...1))
    #expect(store.context.maxRetries == 2)
    try await store.fetchAllPages()
    #expect(try await store.fetchNextPage()?.id == 2)
  }

  @Test func aModifiedInfiniteQueryIsOneStill() async throws {
    func path(of query: some InfiniteQueryRequest<Int, Int>) -> QueryPath { query.path }
    let query = PagesQuery(self.source).retry(limit: 1).deduplicated().delayer(.noDelay)
    #expect(path(of: query) == ["pages"])
    #expect(query.initialPageId == 1)
    #expect(query._debugTypeName == "PagesQuery")
    let store = QueryStore.detached(query: query, initialValue: testPages(1...2))
    try await store.fetchAllPages()
    let paging = try #require(self.source.pagings.last)
    #expect(
      query.pageId(after: TestPage(id: 2, value: 0), using: paging, in: QueryContext()) == 3
    )
    #expect(
      query.pageId(before: TestPage(id: 2, value: 0), using: paging, in: QueryContext()) == 1
    )
    let value = try await query.fetchPage(
      using: paging,
      in: QueryContext(),
      with: QueryContinuation { _, _ in }
    )
    #expect(value == 20)
  }

  @Test func modifiersSurroundTheWholeFetchAndNotEachPage() async throws {
    let started = Counter()
    let query = PagesQuery(self.source).modifier(CountingModifier(counter: started))
    let store = QueryStore.detached(query: query, initialValue: testPages(1...3))
    try await store.fetchAllPages()
    #expect(self.source.ids == [1, 2, 3])
    #expect(started.value == 1)
  }

  @Test func anInfiniteQueryHasNoPreviousPageByDefault() async throws {
    struct ForwardQuery: InfiniteQueryRequest, Hashable {
      let initialPageId = "a"
      func pageId(
        after page: InfiniteQueryPage<String, String>,
        using paging: InfiniteQueryPaging<String, String>,
        in context: QueryContext
      ) -> String? { page.id + "a" }
      func fetchPage(
        using paging: InfiniteQueryPaging<String, String>,
        in context: QueryContext,
        with continuation: QueryContinuation<String>
      ) async throws -> String { paging.pageId.uppercased() }
    }
    let store = QueryStore.detached(query: ForwardQuery())
    #expect(try await store.fetchNextPage()?.value == "A")
    #expect(!store.state.hasPreviousPage)
    #expect(try await store.fetchPreviousPage() == nil)
    #expect(try await store.fetchNextPage()?.value == "AA")
  }
}

private struct CountingModifier<Query: QueryRequest>: QueryModifier {
  let counter: Counter

  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    self.counter.increment()
    return try await query.fetch(in: context, with: continuation)
  }
}
