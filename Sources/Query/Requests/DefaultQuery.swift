/// A query whose stores show a default value instead of `nil` until a value was fetched.
///
/// Made by ``QueryRequest/defaultValue(_:)``. It has the path of the query that it wraps, so one
/// client can hold a store of only one of them.
public struct DefaultQuery<Query: QueryRequest>: QueryRequest
where Query.State == QueryState<Query.Value?, Query.Value> {
  /// The state of a store whose value is never absent.
  public typealias State = QueryState<Query.Value, Query.Value>

  /// The query that is fetched.
  public let query: Query

  @usableFromInline
  let _defaultValue: @Sendable () -> Query.Value

  @inlinable
  init(query: Query, defaultValue: @escaping @Sendable () -> Query.Value) {
    self.query = query
    self._defaultValue = defaultValue
  }

  /// The value that a store starts with, evaluated at each access.
  @inlinable
  public var defaultValue: Query.Value { self._defaultValue() }

  @inlinable
  public var path: QueryPath { self.query.path }

  public var _debugTypeName: String { self.query._debugTypeName }

  @inlinable
  public func setup(context: inout QueryContext) {
    self.query.setup(context: &context)
  }

  @inlinable
  public func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await self.query.fetch(in: context, with: continuation)
  }
}

extension QueryRequest {
  /// Gives the stores of this query a value to start with.
  ///
  /// - Parameter value: The value before the first fetch, evaluated when a store needs it.
  /// - Returns: A query whose `currentValue` is not optional.
  @inlinable
  public func defaultValue(
    _ value: @autoclosure @escaping @Sendable () -> Value
  ) -> DefaultQuery<Self> where State == QueryState<Value?, Value> {
    DefaultQuery(query: self, defaultValue: value)
  }
}
