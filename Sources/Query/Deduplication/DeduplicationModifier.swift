extension QueryRequest {
  /// Lets overlapping fetches of one store share their work.
  ///
  /// For an ordinary query every overlapping fetch is a duplicate; for an infinite query, those
  /// that fetch the same page or all pages; for a mutation, no fetch is. A duplicate waits for the
  /// fetch under way. A cancelled caller leaves without cancelling the others; the shared fetch is
  /// cancelled when all callers have left.
  @inlinable
  public func deduplicated() -> ModifiedQuery<Self, _DeduplicationModifier<Self>> {
    self.modifier(_DeduplicationModifier { State._isDuplicate($0, $1) })
  }

  /// Lets overlapping fetches of one store share their work if a closure says so.
  ///
  /// If a query has several such modifiers, the closure of the one nearest to the request counts.
  ///
  /// - Parameter isDuplicate: Whether a fetch in the second context, which is about to start, does
  ///   the work of the one in the first context, which is under way.
  @inlinable
  public func deduplicated(
    by isDuplicate: @escaping @Sendable (QueryContext, QueryContext) -> Bool
  ) -> ModifiedQuery<Self, _DeduplicationModifier<Self>> {
    self.modifier(_DeduplicationModifier(isDuplicate: isDuplicate))
  }
}

public struct _DeduplicationModifier<Query: QueryRequest>: QueryModifier {
  @usableFromInline let isDuplicate: @Sendable (QueryContext, QueryContext) -> Bool

  @inlinable
  init(isDuplicate: @escaping @Sendable (QueryContext, QueryContext) -> Bool) {
    self.isDuplicate = isDuplicate
  }

  @inlinable
  public func setup(context: inout QueryContext, using query: Query) {
    let key = QueryContext.DeduplicationKey<Query.Value>.self
    context[key] = DeduplicationValues(
      table: context[key]?.table ?? DeduplicationTable(),
      isDuplicate: self.isDuplicate
    )
    query.setup(context: &context)
  }

  @inlinable
  public func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    // The outermost layer does it, with the predicate of the innermost; all others pass through.
    let key = QueryContext.DeduplicationKey<Query.Value>.self
    guard let values = context[key] else {
      return try await query.fetch(in: context, with: continuation)
    }
    return try await values.table.fetch(
      query,
      in: context,
      with: continuation,
      isDuplicate: values.isDuplicate
    )
  }
}

@usableFromInline
struct DeduplicationValues<Value: Sendable>: Sendable {
  @usableFromInline let table: DeduplicationTable<Value>
  @usableFromInline let isDuplicate: @Sendable (QueryContext, QueryContext) -> Bool

  @inlinable
  init(
    table: DeduplicationTable<Value>,
    isDuplicate: @escaping @Sendable (QueryContext, QueryContext) -> Bool
  ) {
    self.table = table
    self.isDuplicate = isDuplicate
  }
}

extension QueryContext {
  @inlinable
  func isOfSameStore(as other: QueryContext) -> Bool {
    if self.hasSameReference(as: other) { return true }
    // A store has one reference of its own, but a user may have set another one.
    let (reference, otherReference) = (self[CurrentStoreKey.self], other[CurrentStoreKey.self])
    return reference?.store === otherReference?.store
  }

  /// Compares without retaining the reference, for which all fetches of a store would contend.
  @inlinable
  func hasSameReference(as other: QueryContext) -> Bool {
    let key = ObjectIdentifier(CurrentStoreKey.self)
    guard let node = self.node(for: key), let otherNode = other.node(for: key) else { return false }
    return node._withUnsafeGuaranteedRef { node in
      otherNode._withUnsafeGuaranteedRef { other in
        unsafeDowncast(node, to: ContextValueNode<StoreReference?>.self).value
          === unsafeDowncast(other, to: ContextValueNode<StoreReference?>.self).value
      }
    }
  }

  @inlinable
  func deduplicationTable<Value: Sendable>(of value: Value.Type) -> DeduplicationTable<Value>? {
    self[DeduplicationKey<Value>.self]?.table
  }

  @usableFromInline
  enum DeduplicationKey<Value: Sendable>: Key {
    @inlinable static var defaultValue: DeduplicationValues<Value>? { nil }
  }
}
