/// Tells whether the application is active: in front of its user, awake, or whatever that means to
/// the application.
public protocol ApplicationActivityObserver: Sendable {
  /// Calls a handler whenever the application becomes active or inactive.
  ///
  /// - Parameter handler: Takes whether the application is active.
  /// - Returns: The observation, which ends when it is cancelled.
  func subscribe(_ handler: @escaping @Sendable (Bool) -> Void) -> QuerySubscription
}

/// A condition that is satisfied while the application is active, as it is until its observer says
/// otherwise.
///
/// It is never satisfied for a query with ``QueryRequest/disableApplicationActiveRefetching(_:)``.
public final class ApplicationIsActiveCondition: FetchCondition {
  private let values = ObserverList(true)
  private let subscription: QuerySubscription

  fileprivate init(observer: some ApplicationActivityObserver) {
    let values = self.values
    self.subscription = observer.subscribe { values.send($0, where: !=) }
  }

  public func isSatisfied(in context: QueryContext) -> Bool {
    context.isApplicationActiveRefetchingEnabled && self.values.value
  }

  public func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    guard context.isApplicationActiveRefetchingEnabled else {
      observer(false)
      return .empty
    }
    return self.values.subscribe(emittingFirst: true, observer)
  }
}

extension FetchCondition where Self == ApplicationIsActiveCondition {
  /// A condition that is satisfied while the application is active.
  ///
  /// - Parameter observer: Tells when the application becomes active or inactive.
  public static func applicationIsActive(
    observer: some ApplicationActivityObserver
  ) -> Self {
    ApplicationIsActiveCondition(observer: observer)
  }
}

extension QueryContext {
  /// Whether the application's becoming active may refetch a query. True by default.
  public var isApplicationActiveRefetchingEnabled: Bool {
    get { self[IsApplicationActiveRefetchingEnabledKey.self] }
    set { self[IsApplicationActiveRefetchingEnabledKey.self] = newValue }
  }

  private enum IsApplicationActiveRefetchingEnabledKey: Key {
    static let defaultValue = true
  }
}

extension QueryRequest {
  /// Keeps the application's becoming active from refetching this query.
  ///
  /// - Parameter isDisabled: Whether to disable it.
  public func disableApplicationActiveRefetching(
    _ isDisabled: Bool = true
  ) -> ModifiedQuery<Self, _ApplicationActiveRefetchingModifier<Self>> {
    self.modifier(_ApplicationActiveRefetchingModifier(isEnabled: !isDisabled))
  }
}

public struct _ApplicationActiveRefetchingModifier<Query: QueryRequest>:
  _ContextUpdatingQueryModifier
{
  let isEnabled: Bool

  public func setup(context: inout QueryContext) {
    context.isApplicationActiveRefetchingEnabled = self.isEnabled
  }
}
