/// Logic that can be put around any query: it edits the context of a new store, surrounds each
/// fetch, or both.
///
/// ```swift
/// struct DelayModifier<Query: QueryRequest>: QueryModifier {
///   let seconds: TimeInterval
///
///   func fetch(
///     in context: QueryContext,
///     using query: Query,
///     with continuation: QueryContinuation<Query.Value>
///   ) async throws -> Query.Value {
///     try await context.queryDelayer.delay(for: self.seconds)
///     return try await query.fetch(in: context, with: continuation)
///   }
/// }
/// ```
/// Return `ModifiedQuery<Self, some QueryModifier<Self>>` from the method that applies a modifier,
/// so that infinite queries and mutations stay what they are.
public protocol QueryModifier<Query>: Sendable {
  /// The query that is modified.
  associatedtype Query: QueryRequest

  /// Edits the context of a new store. An implementation must call `query.setup(context:)`.
  ///
  /// - Parameters:
  ///   - context: The context of the new store.
  ///   - query: The query that is modified.
  func setup(context: inout QueryContext, using query: Query)

  /// Fetches the query, with whatever the modifier adds.
  ///
  /// - Parameters:
  ///   - context: The values that this fetch runs with.
  ///   - query: The query that is modified.
  ///   - continuation: Takes values that are known before the final one.
  /// - Returns: The final value.
  /// - Throws: What the query throws, or an error of the modifier's own.
  func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value
}

extension QueryModifier {
  /// Runs the query's own setup.
  @inlinable
  public func setup(context: inout QueryContext, using query: Query) {
    query.setup(context: &context)
  }
}

/// A modifier that does no more than to edit the context.
///
/// Its edit comes first and the query's own setup after it, so the query wins.
public protocol _ContextUpdatingQueryModifier: QueryModifier {
  /// Edits the context of a new store.
  func setup(context: inout QueryContext)
}

extension _ContextUpdatingQueryModifier {
  @inlinable
  public func setup(context: inout QueryContext, using query: Query) {
    self.setup(context: &context)
    query.setup(context: &context)
  }

  @inlinable
  public func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    try await query.fetch(in: context, with: continuation)
  }
}
