extension ModifiedQuery: InfiniteQueryRequest where Query: InfiniteQueryRequest {
  public typealias PageID = Query.PageID
  public typealias PageValue = Query.PageValue

  @inlinable
  public var initialPageId: Query.PageID { self.query.initialPageId }

  @inlinable
  public func pageId(
    after page: InfiniteQueryPage<Query.PageID, Query.PageValue>,
    using paging: InfiniteQueryPaging<Query.PageID, Query.PageValue>,
    in context: QueryContext
  ) -> Query.PageID? {
    self.query.pageId(after: page, using: paging, in: context)
  }

  @inlinable
  public func pageId(
    before page: InfiniteQueryPage<Query.PageID, Query.PageValue>,
    using paging: InfiniteQueryPaging<Query.PageID, Query.PageValue>,
    in context: QueryContext
  ) -> Query.PageID? {
    self.query.pageId(before: page, using: paging, in: context)
  }

  @inlinable
  public func fetchPage(
    using paging: InfiniteQueryPaging<Query.PageID, Query.PageValue>,
    in context: QueryContext,
    with continuation: QueryContinuation<Query.PageValue>
  ) async throws -> Query.PageValue {
    try await self.query.fetchPage(using: paging, in: context, with: continuation)
  }
}
