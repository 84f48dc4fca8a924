/// A request that brings the value its stores start with.
///
/// ``DefaultQuery`` and ``DefaultInfiniteQuery`` conform, and so does a ``ModifiedQuery`` around
/// one, which is how modifiers may follow ``QueryRequest/defaultValue(_:)``.
public protocol _DefaultValueRequest: QueryRequest {
  /// The state that a new store starts with.
  var _defaultState: State { get }
}

extension DefaultQuery: _DefaultValueRequest {
  @inlinable
  public var _defaultState: State { QueryState(initialValue: self.defaultValue) }
}

extension ModifiedQuery: _DefaultValueRequest where Query: _DefaultValueRequest {
  @inlinable
  public var _defaultState: Query.State { self.query._defaultState }
}
