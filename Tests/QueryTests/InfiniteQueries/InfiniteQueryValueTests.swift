import Query
import TestSupport
import Testing

@Suite struct InfiniteQueryValueTests {
  @Test func theValuesOfTheKinds() async throws {
    let store = PagesQuery().store()
    let initial = try await store.fetch()
    #expect(initial.fetchValue == .initialPage(TestPage(id: 1, value: 10)))
    let next = try await store.fetchNextPageValue()
    guard case .nextPage(let page) = next.fetchValue else {
      Issue.record("\(next.fetchValue)")
      return
    }
    #expect(page.page == TestPage(id: 2, value: 20))
    #expect(page.lastPageId == 1)
    let previous = try await store.fetchPreviousPageValue()
    guard case .previousPage(let page) = previous.fetchValue else {
      Issue.record("\(previous.fetchValue)")
      return
    }
    #expect(page.page == TestPage(id: 0, value: 0))
    #expect(page.firstPageId == 1)
    let all = try await store.fetch()
    #expect(all.fetchValue == .allPages(testPages(0...2)))
    #expect(Set([initial, next, previous, all, all]).count == 4)
  }

  @Test func valuesWithOtherIdentifiersDiffer() async throws {
    let first = try await PagesQuery(PageSource(1...1)).store().fetch()
    let second = try await PagesQuery(PageSource(1...2)).store().fetch()
    #expect(first.fetchValue == second.fetchValue)
    #expect(first != second)
  }

  @Test func whatIsPrintedOfAValueIsWhatWasFetched() async throws {
    let value = try await PagesQuery().store().fetch()
    #expect("\(value)".contains("fetchValue: "))
    #expect(!"\(value)".contains("storage"))
    #expect(Mirror(reflecting: value).children.first?.label == "fetchValue")
  }

  @Test func pagesAreEqualByIdentifierAndValue() {
    var page = TestPage(id: 1, value: 2)
    #expect(page == TestPage(id: 1, value: 2))
    #expect(page.hashValue == TestPage(id: 1, value: 2).hashValue)
    page.value = 3
    #expect(page != TestPage(id: 1, value: 2))
    page.id = 4
    #expect(page == TestPage(id: 4, value: 3))
  }

  @Test func pagingRequestsAreEqualByKindAndIdentifier() {
    typealias Request = InfiniteQueryPagingRequest<Int>
    let requests: [Request] = [
      .nextPage(1), .nextPage(2), .previousPage(1), .initialPage, .allPages,
    ]
    #expect(Set(requests).count == 5)
    #expect(Request.nextPage(1) == .nextPage(1))
  }
}

extension QueryStore where State == TestPagesState {
  /// Fetches the next page with its value as the request produced it.
  fileprivate func fetchNextPageValue() async throws -> InfiniteQueryValue<Int, Int> {
    let values = Recorder<InfiniteQueryValue<Int, Int>>()
    let subscription = self.subscribe(with: Self.recording(values))
    try await self.fetchNextPage()
    subscription.cancel()
    return values.elements[0]
  }

  fileprivate func fetchPreviousPageValue() async throws -> InfiniteQueryValue<Int, Int> {
    let values = Recorder<InfiniteQueryValue<Int, Int>>()
    let subscription = self.subscribe(with: Self.recording(values))
    try await self.fetchPreviousPage()
    subscription.cancel()
    return values.elements[0]
  }

  private static func recording(
    _ values: Recorder<InfiniteQueryValue<Int, Int>>
  ) -> QueryEventHandler<State> {
    QueryEventHandler(onResultReceived: { result, _ in
      if case .success(let value) = result { values.append(value) }
    })
  }
}
