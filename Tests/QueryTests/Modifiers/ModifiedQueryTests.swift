import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct ModifiedQueryTests {
  @Test func hasThePathAndTheNameOfTheQueryInside() {
    let query = ProbeQuery(path: ["a", 1]).retry(limit: 1).traced("outer")
    #expect(query.path == ["a", 1])
    #expect(query._debugTypeName == "ProbeQuery")
    #expect(query.query.query.path == ["a", 1])
    #expect(query.modifier.name == "outer")
  }

  @Test func hasTheStateAndTheValueOfTheQueryInside() {
    typealias Modified = ModifiedQuery<ProbeQuery, TraceModifier<ProbeQuery>>
    #expect(Modified.State.self == QueryState<Int?, Int>.self)
    #expect(Modified.Value.self == Int.self)
  }

  // MARK: - Infinite queries

  @Test func anInfiniteQueryStaysOne() async throws {
    let pages = ProbePages(lastPage: 1).traced("outer")
    #expect(pages.initialPageId == 0)
    let store = QueryStore.detached(query: pages)
    #expect(try await store.fetchNextPage()?.id == 0)
    #expect(store.nextPageId == 1)
    #expect(store.previousPageId == -1)
  }

  @Test func modifiersSurroundTheWholeFetchAndNotEachPage() async throws {
    let fetches = Counter()
    let pageFetches = Recorder<Int>()
    let pages = ProbePages(onFetch: { id, _ in
      pageFetches.append(id)
      return "page \(id)"
    })
    .traced("outer") { _ in fetches.increment() }
    let store = QueryStore.detached(query: pages)
    for _ in 0...2 { try await store.fetchNextPage() }
    #expect(fetches.value == 3)
    try await store.fetchAllPages()
    #expect(fetches.value == 4)
    #expect(pageFetches.elements == [0, 1, 2, 0, 1, 2])
  }

  @Test func fetchPageGoesStraightToTheQueryInside() async throws {
    let fetches = Counter()
    let modified = ProbePages().traced("skipped") { _ in fetches.increment() }
    let store = QueryStore.detached(query: Forwarding(pages: modified))
    #expect(try await store.fetchNextPage()?.value == "page 0")
    #expect(try await store.fetchNextPage()?.value == "page 1")
    #expect(store.previousPageId == -1)
    #expect(fetches.value == 0)
  }

  // MARK: - Mutations

  @Test func aMutationStaysOne() async throws {
    let fetches = Counter()
    let mutation = ProbeMutation().traced("outer") { _ in fetches.increment() }
    let store = QueryStore.detached(mutation: mutation)
    #expect(try await store.mutate(with: 2) == 4)
    #expect(fetches.value == 1)
    let direct = try await mutation.mutate(
      with: 3,
      in: QueryContext(),
      with: QueryContinuation { _, _ in }
    )
    #expect(direct == 6)
    #expect(fetches.value == 1)
  }

  // MARK: - Default values

  @Test func aDefaultValueSurvivesModifiers() {
    let query = ProbeQuery().defaultValue(9).retry(limit: 1).traced("outer")
    #expect(QueryStore.detached(query: query).currentValue == 9)
    #expect(QueryClient.quiet().store(for: query).currentValue == 9)

    let pages = ProbePages().defaultValue([InfiniteQueryPage(id: 7, value: "seven")]).retry(
      limit: 1)
    #expect(QueryStore.detached(query: pages).currentValue.map(\.id) == [7])
    #expect(QueryClient.quiet().store(for: pages).currentValue.map(\.id) == [7])
  }
}

/// Hands each page on to another infinite query.
private struct Forwarding<Pages: InfiniteQueryRequest<Int, String>>: InfiniteQueryRequest {
  typealias PageID = Int
  typealias PageValue = String

  let pages: Pages
  var path: QueryPath { self.pages.path }
  var initialPageId: Int { self.pages.initialPageId }

  func pageId(
    after page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? { self.pages.pageId(after: page, using: paging, in: context) }

  func pageId(
    before page: InfiniteQueryPage<Int, String>,
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? { self.pages.pageId(before: page, using: paging, in: context) }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    try await self.pages.fetchPage(using: paging, in: context, with: continuation)
  }
}
