/// A query with a modifier around it.
///
/// It has the path, the state and the name of the query inside. If that is an
/// ``InfiniteQueryRequest`` or a ``MutationRequest``, so is this.
public struct ModifiedQuery<Query: QueryRequest, Modifier: QueryModifier>: QueryRequest
where Modifier.Query == Query {
  /// The state of the query inside.
  public typealias State = Query.State
  /// The value of the query inside.
  public typealias Value = Query.Value

  /// The query inside.
  public let query: Query

  /// The modifier around it.
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
