import FoundationEssentials

/// When the value of a query is stale, so that an automatic fetch is due.
///
/// It is stale if any of its predicates says so, and always if it has no predicate.
public struct StaleWhenRevalidateCondition: Sendable {
  private struct Predicate {
    /// Whether it goes by the age of the value, of which a server may know better.
    var isOfAge: Bool
    var isStale: @Sendable (OpaqueQueryState, QueryContext) -> Bool
  }

  private var predicates = [Predicate]()

  /// Creates a condition without predicates.
  public init() {}

  /// Adds a predicate, which is evaluated after the existing ones.
  ///
  /// - Parameter predicate: Whether a state is stale.
  public mutating func add(
    predicate: @escaping @Sendable (OpaqueQueryState, QueryContext) -> Bool
  ) {
    self.add(isOfAge: false, predicate)
  }

  mutating func add(
    isOfAge: Bool,
    _ predicate: @escaping @Sendable (OpaqueQueryState, QueryContext) -> Bool
  ) {
    self.predicates.append(Predicate(isOfAge: isOfAge, isStale: predicate))
  }

  /// Whether a state is stale. An invalidated state always is.
  ///
  /// - Parameters:
  ///   - state: The state.
  ///   - context: The context of its store.
  public func evaluate(state: some QueryStateProtocol, in context: QueryContext) -> Bool {
    self.evaluate(state: state, freshFor: nil, in: context)
  }

  /// Whether a state is stale.
  ///
  /// - Parameter freshFor: How old its value may be, instead of what the predicates say of ages; nil: they
  ///   say it.
  func evaluate(
    state: some QueryStateProtocol, freshFor: Duration?, in context: QueryContext
  ) -> Bool {
    if state.isInvalidated || self.predicates.isEmpty && freshFor == nil { return true }
    if let freshFor, Self.isOlder(state, than: freshFor.seconds, in: context) { return true }
    let state = OpaqueQueryState(state)
    return self.predicates.contains {
      !($0.isOfAge && freshFor != nil) && $0.isStale(state, context)
    }
  }

  /// Whether a value was never updated, or is older than it may be.
  static func isOlder(
    _ state: some QueryStateProtocol, than seconds: TimeInterval, in context: QueryContext
  ) -> Bool {
    guard let date = state.valueLastUpdatedAt else { return true }
    let age = context.queryClock.now().timeIntervalSince(date)
    // A date in the future comes from a clock that was wrong.
    return age > seconds || age < 0
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
