/// What a page is fetched for: the page, and the pages beside it.
public struct InfiniteQueryPaging<PageID: Hashable & Sendable, PageValue: Sendable>: Sendable {
  /// The page to fetch.
  public let pageId: PageID

  /// The pages at hand; in a refetch of all pages, those that it has fetched so far.
  public let pages: InfiniteQueryPages<PageID, PageValue>

  /// The request that this page answers.
  public let request: InfiniteQueryPagingRequest<PageID>

  @inlinable
  init(
    pageId: PageID,
    pages: InfiniteQueryPages<PageID, PageValue>,
    request: InfiniteQueryPagingRequest<PageID>
  ) {
    self.pageId = pageId
    self.pages = pages
    self.request = request
  }
}

extension InfiniteQueryPaging: Equatable where PageValue: Equatable {}
extension InfiniteQueryPaging: Hashable where PageValue: Hashable {}

/// What a fetch of an infinite query does.
public enum InfiniteQueryPagingRequest<PageID: Hashable & Sendable>: Hashable, Sendable {
  /// Fetches the page after the last one.
  case nextPage(PageID)
  /// Fetches the page before the first one.
  case previousPage(PageID)
  /// Fetches the page that the query starts with.
  case initialPage
  /// Fetches all pages again that are loaded.
  case allPages
}
