import Query

// Document 004, "Infinite Queries": block 2.

struct PlayersPage: Sendable, Codable {
  let players: [Player]
  let nextPageKey: String?
  let previousPageKey: String?

  var isLastPage: Bool { nextPageKey == nil }
  var isFirstPage: Bool { previousPageKey == nil }
}

struct PlayersQuery: InfiniteQueryRequest, Hashable {
  typealias PageID = String
  typealias PageValue = PlayersPage

  let listId: Int

  // Requirement 1 (Provide the initial page index that can be any Hashable
  // and Sendable type.)
  let initialPageId = "initial"

  // Requirement 2 (Provide a way to determine the next page id from the
  // previous page, which can be the next page token that your API
  // returns for the previous page.)
  func pageId(
    after page: InfiniteQueryPage<String, PlayersPage>,
    using paging: InfiniteQueryPaging<String, PlayersPage>,
    in context: QueryContext
  ) -> String? {
    page.value.isLastPage ? nil : page.value.nextPageKey
  }

  // [OPTIONAL] Requirement 3 (Provide a way to determine the previous page id
  // from the first page, which can be the previous page token that your API
  // returns for the previous page.)
  func pageId(
    before page: InfiniteQueryPage<String, PlayersPage>,
    using paging: InfiniteQueryPaging<String, PlayersPage>,
    in context: QueryContext
  ) -> String? {
    page.value.isFirstPage ? nil : page.value.previousPageKey
  }

  // Requirement 4 (Fetch the data for a page.)
  func fetchPage(
    using paging: InfiniteQueryPaging<String, PlayersPage>,
    in context: QueryContext,
    with continuation: QueryContinuation<PlayersPage>
  ) async throws -> PlayersPage {
    // Fetch the list of players for the page...
    try await context.playersAPI.page(paging.pageId)
  }
}
