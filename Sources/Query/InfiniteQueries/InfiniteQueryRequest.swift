/// A request for a list that arrives page by page.
///
/// A store of it fetches pages with ``QueryStore/fetchNextPage(using:handler:)-(QueryTaskConfiguration?,_)``
/// and its siblings; a plain `fetch()` fetches all loaded pages again, or the initial one if none
/// is loaded.
public protocol InfiniteQueryRequest<PageID, PageValue>: QueryRequest
where
  Value == InfiniteQueryValue<PageID, PageValue>, State == InfiniteQueryState<PageID, PageValue>
{
  /// What a page holds.
  associatedtype PageValue: Sendable

  /// What identifies a page, such as a number or a cursor.
  associatedtype PageID: Hashable & Sendable

  /// The page that the query starts with.
  var initialPageId: PageID { get }

  /// The page after a page.
  ///
  /// - Parameters:
  ///   - page: The page before.
  ///   - paging: What `page` was fetched for.
  ///   - context: The values that the fetch runs with.
  /// - Returns: The identifier of the page after it, or `nil` if it is the last one.
  func pageId(
    after page: InfiniteQueryPage<PageID, PageValue>,
    using paging: InfiniteQueryPaging<PageID, PageValue>,
    in context: QueryContext
  ) -> PageID?

  /// The page before a page.
  ///
  /// - Parameters:
  ///   - page: The page after.
  ///   - paging: What `page` was fetched for.
  ///   - context: The values that the fetch runs with.
  /// - Returns: The identifier of the page before it, or `nil` if it is the first one.
  func pageId(
    before page: InfiniteQueryPage<PageID, PageValue>,
    using paging: InfiniteQueryPaging<PageID, PageValue>,
    in context: QueryContext
  ) -> PageID?

  /// Fetches a page.
  ///
  /// - Parameters:
  ///   - paging: The page to fetch, and the pages at hand.
  ///   - context: The values that this fetch runs with.
  ///   - continuation: Takes values of the page that are known before the final one.
  /// - Returns: What the page holds.
  /// - Throws: Any error; it ends the fetch, even if more pages were to follow.
  func fetchPage(
    using paging: InfiniteQueryPaging<PageID, PageValue>,
    in context: QueryContext,
    with continuation: QueryContinuation<PageValue>
  ) async throws -> PageValue
}

extension InfiniteQueryRequest {
  /// No page comes before the initial one.
  @inlinable
  public func pageId(
    before page: InfiniteQueryPage<PageID, PageValue>,
    using paging: InfiniteQueryPaging<PageID, PageValue>,
    in context: QueryContext
  ) -> PageID? { nil }

  /// Fetches what the context requests: a page, or all.
  @inlinable
  public func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    try await InfiniteQueryFetch(query: self, context: context, continuation: continuation).run()
  }
}
