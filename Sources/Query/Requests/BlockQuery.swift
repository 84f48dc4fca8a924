/// A query made of a closure, for one that needs no type of its own.
///
/// ```swift
/// let post = BlockQuery(["posts", id]) { context in try await api.post(id) }
/// let store = client.store(for: post.stale(after: 60).persisted())
/// ```
/// Its identity is its path: a closure has none. So the path must hold all that the closure captures
/// and that tells one value from another, such as `id` here. A client runs the closure with which the
/// store of a path was made; another closure under the same path is never run.
public struct BlockQuery<Value: Sendable>: QueryRequest {
  /// The identity of the query.
  public let path: QueryPath

  @usableFromInline
  let _fetch: @Sendable (QueryContext, QueryContinuation<Value>) async throws -> Value

  /// Makes a query.
  ///
  /// - Parameters:
  ///   - path: The identity of the query.
  ///   - fetch: Fetches the value, with the values that the fetch runs with. What it throws becomes the
  ///     error of the store's state.
  @inlinable
  public init(
    _ path: QueryPath,
    fetch: @escaping @Sendable (QueryContext) async throws -> Value
  ) {
    self.path = path
    self._fetch = { context, _ in try await fetch(context) }
  }

  /// Makes a query that knows values before the final one.
  ///
  /// - Parameters:
  ///   - path: The identity of the query.
  ///   - fetch: Fetches the value, with the values that the fetch runs with, and the continuation that
  ///     takes earlier values. What it throws becomes the error of the store's state.
  @inlinable
  public init(
    _ path: QueryPath,
    fetch: @escaping @Sendable (QueryContext, QueryContinuation<Value>) async throws -> Value
  ) {
    self.path = path
    self._fetch = fetch
  }

  public var _debugTypeName: String { BlockName.of("BlockQuery", self.path) }

  @inlinable
  public func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    try await self._fetch(context, continuation)
  }
}

/// How messages call a request that has no type of its own: by its path.
enum BlockName {
  static func of(_ type: String, _ path: QueryPath) -> String {
    "\(type)([\(path.map(\.description).joined(separator: ", "))])"
  }
}
