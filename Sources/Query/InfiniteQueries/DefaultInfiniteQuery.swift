/// An infinite query whose stores start with pages.
///
/// Made by ``InfiniteQueryRequest/defaultValue(_:)``.
public struct DefaultInfiniteQuery<Query: InfiniteQueryRequest>: InfiniteQueryRequest {
  public typealias PageID = Query.PageID
  public typealias PageValue = Query.PageValue

  /// The query that is fetched.
  public let query: Query

  private let makeDefaultValue: @Sendable () -> Query.State.StateValue

  fileprivate init(
    query: Query,
    defaultValue: @escaping @Sendable () -> Query.State.StateValue
  ) {
    self.query = query
    self.makeDefaultValue = defaultValue
  }

  /// The pages that a store starts with, evaluated at each access.
  public var defaultValue: Query.State.StateValue { self.makeDefaultValue() }

  public var path: QueryPath { self.query.path }
  public var _debugTypeName: String { self.query._debugTypeName }
  public var initialPageId: Query.PageID { self.query.initialPageId }

  public func setup(context: inout QueryContext) {
    self.query.setup(context: &context)
  }

  public func pageId(
    after page: InfiniteQueryPage<Query.PageID, Query.PageValue>,
    using paging: InfiniteQueryPaging<Query.PageID, Query.PageValue>,
    in context: QueryContext
  ) -> Query.PageID? {
    self.query.pageId(after: page, using: paging, in: context)
  }

  public func pageId(
    before page: InfiniteQueryPage<Query.PageID, Query.PageValue>,
    using paging: InfiniteQueryPaging<Query.PageID, Query.PageValue>,
    in context: QueryContext
  ) -> Query.PageID? {
    self.query.pageId(before: page, using: paging, in: context)
  }

  public func fetchPage(
    using paging: InfiniteQueryPaging<Query.PageID, Query.PageValue>,
    in context: QueryContext,
    with continuation: QueryContinuation<Query.PageValue>
  ) async throws -> Query.PageValue {
    try await self.query.fetchPage(using: paging, in: context, with: continuation)
  }

  public func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await self.query.fetch(in: context, with: continuation)
  }
}

extension DefaultInfiniteQuery: _DefaultValueRequest {
  public var _defaultState: Query.State {
    InfiniteQueryState(initialValue: self.defaultValue, initialPageId: self.initialPageId)
  }
}

extension InfiniteQueryRequest {
  /// Gives the stores of this query pages to start with.
  ///
  /// - Parameter value: The pages before the first fetch, evaluated when a store needs them.
  public func defaultValue(
    _ value: @autoclosure @escaping @Sendable () -> State.StateValue
  ) -> DefaultInfiniteQuery<Self> {
    DefaultInfiniteQuery(query: self, defaultValue: value)
  }
}
