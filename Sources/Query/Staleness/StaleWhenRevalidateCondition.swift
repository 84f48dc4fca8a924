import FoundationEssentials

/// When the value of a query is stale, so that an automatic fetch is due.
///
/// It is stale if any of its predicates says so, and always if it has no predicate.
public struct StaleWhenRevalidateCondition: Sendable {
  private var predicates = [@Sendable (OpaqueQueryState, QueryContext) -> Bool]()

  /// Creates a condition without predicates.
  public init() {}

  /// Adds a predicate, which is evaluated after the existing ones.
  ///
  /// - Parameter predicate: Whether a state is stale.
  public mutating func add(
    predicate: @escaping @Sendable (OpaqueQueryState, QueryContext) -> Bool
  ) {
    self.predicates.append(predicate)
  }

  /// Whether a state is stale. An invalidated state always is.
  ///
  /// - Parameters:
  ///   - state: The state.
  ///   - context: The context of its store.
  public func evaluate(state: some QueryStateProtocol, in context: QueryContext) -> Bool {
    if self.predicates.isEmpty || state.isInvalidated { return true }
    let state = OpaqueQueryState(state)
    return self.predicates.contains { $0(state, context) }
  }
}

extension QueryContext {
  /// When the value of a store is stale. Without predicates by default, which means always.
  public var staleWhenRevalidateCondition: StaleWhenRevalidateCondition {
    get { self[StaleWhenRevalidateConditionKey.self] }
    set { self[StaleWhenRevalidateConditionKey.self] = newValue }
  }

  private enum StaleWhenRevalidateConditionKey: Key {
    static var defaultValue: StaleWhenRevalidateCondition { StaleWhenRevalidateCondition() }
  }
}
