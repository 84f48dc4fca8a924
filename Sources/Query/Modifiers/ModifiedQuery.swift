/// A query with a modifier around it.
///
/// It has the path, the state and the name of the query inside. Where that is an
/// ``InfiniteQueryRequest`` or a ``MutationRequest``, so is this.
public struct ModifiedQuery<Query: QueryRequest, Modifier: QueryModifier>: QueryRequest
where Modifier.Query == Query {
  /// The state of the query inside.
  public typealias State = Query.State
  /// The value of the query inside.
  public typealias Value = Query.Value

  /// The query inside.
  public let query: Query

  /// What is around it.
  public let modifier: Modifier

  @inlinable
  init(query: Query, modifier: Modifier) {
    self.query = query
    self.modifier = modifier
  }

  @inlinable
  public var path: QueryPath { self.query.path }

  public var _debugTypeName: String { self.query._debugTypeName }

  @inlinable
  public func setup(context: inout QueryContext) {
    self.modifier.setup(context: &context, using: self.query)
  }

  @inlinable
  public func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await self.modifier.fetch(in: context, using: self.query, with: continuation)
  }
}

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

extension ModifiedQuery: MutationRequest where Query: MutationRequest {
  public typealias Arguments = Query.Arguments
  public typealias ReturnValue = Query.ReturnValue

  @inlinable
  public func mutate(
    with arguments: Query.Arguments,
    in context: QueryContext,
    with continuation: QueryContinuation<Query.ReturnValue>
  ) async throws -> Query.ReturnValue {
    try await self.query.mutate(with: arguments, in: context, with: continuation)
  }
}
