/// A condition that is satisfied while the network is as good as the context requires.
public struct ConnectedCondition: FetchCondition {
  private let observer: any NetworkObserver

  fileprivate init(observer: any NetworkObserver) { self.observer = observer }

  public func isSatisfied(in context: QueryContext) -> Bool {
    self.observer.currentStatus >= context.satisfiedConnectionStatus
  }

  public func subscribe(
    in context: QueryContext,
    _ observer: @escaping @Sendable (Bool) -> Void
  ) -> QuerySubscription {
    let required = context.satisfiedConnectionStatus
    return self.observer.subscribe { observer($0 >= required) }
  }
}

extension FetchCondition where Self == ConnectedCondition {
  /// A condition that is satisfied while the network is as good as
  /// ``QueryContext/satisfiedConnectionStatus`` requires.
  ///
  /// - Parameter observer: Tells the status of the network.
  public static func connected(to observer: some NetworkObserver) -> Self {
    ConnectedCondition(observer: observer)
  }
}
