/// Something that is satisfied or not, and says when that changes: whether the network is there,
/// whether the user is logged in.
///
/// ```swift
/// let query = PlayerQuery(id: 200).refetchOnChange(of: .connected(to: observer) && LoggedIn())
/// ```
public protocol FetchCondition: Sendable {
  /// Whether the condition is satisfied now.
  ///
  /// - Parameter context: The context of the store.
  func isSatisfied(in context: QueryContext) -> Bool

  /// Calls an observer when the condition changes. It may be called with the present value first.
  ///
  /// - Parameters:
  ///   - context: The context of the store.
  ///   - observer: Takes whether the condition is satisfied.
  /// - Returns: The observation, which ends when it is cancelled.
  func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription
}

/// A type-erased condition.
public struct AnyFetchCondition: FetchCondition {
  /// The condition inside.
  public let base: any FetchCondition

  /// Takes the type of a condition away.
  ///
  /// - Parameter condition: The condition.
  public init(_ condition: some FetchCondition) { self.base = condition }

  public func isSatisfied(in context: QueryContext) -> Bool { self.base.isSatisfied(in: context) }

  public func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    self.base.subscribe(in: context, observer)
  }
}

/// A condition that never changes.
public struct AlwaysCondition: FetchCondition {
  private let value: Bool
  private let shouldEmitInitialValue: Bool

  @usableFromInline
  init(value: Bool, shouldEmitInitialValue: Bool) {
    self.value = value
    self.shouldEmitInitialValue = shouldEmitInitialValue
  }

  public func isSatisfied(in context: QueryContext) -> Bool { self.value }

  public func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    if self.shouldEmitInitialValue { observer(self.value) }
    return .empty
  }
}

extension FetchCondition where Self == AlwaysCondition {
  /// A condition that never changes.
  ///
  /// - Parameters:
  ///   - value: Whether it is satisfied.
  ///   - shouldEmitInitialValue: Whether an observer is called with the value when it subscribes.
  public static func always(_ value: Bool, shouldEmitInitialValue: Bool = false) -> Self {
    AlwaysCondition(value: value, shouldEmitInitialValue: shouldEmitInitialValue)
  }
}
