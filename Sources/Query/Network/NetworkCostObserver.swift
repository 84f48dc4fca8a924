/// A network observer that also tells whether the network costs by the byte.
///
/// A pack that is kept with ``PackNetwork/unmetered`` needs one. `SystemNetworkObserver` is one, and
/// ``MockNetworkObserver`` for tests.
public protocol NetworkCostObserver: NetworkObserver {
  /// Whether the network of now is metered: a mobile one, or one that its user has marked so.
  var isMetered: Bool { get }

  /// Calls a handler now, and whenever ``isMetered`` changes.
  ///
  /// - Parameter handler: Takes whether the network is metered.
  /// - Returns: The observation, which ends when it is cancelled.
  func subscribeToCost(
    with handler: @escaping @Sendable (_ isMetered: Bool) -> Void
  ) -> QuerySubscription
}

extension AlwaysConnectedNetworkObserver: NetworkCostObserver {
  /// Never: servers of the same machine or site cost nothing.
  public var isMetered: Bool { false }

  /// Calls a handler once, before this returns.
  public func subscribeToCost(
    with handler: @escaping @Sendable (_ isMetered: Bool) -> Void
  ) -> QuerySubscription {
    handler(false)
    return .empty
  }
}

extension MockNetworkObserver: NetworkCostObserver {
  /// What was sent last; at first it is not metered.
  public var isMetered: Bool { self.costs.value }

  /// Changes whether the network is metered, and calls all handlers with it.
  ///
  /// - Parameter isMetered: Whether it is.
  public func send(isMetered: Bool) { self.costs.send(isMetered) }

  /// Calls a handler with what is so now, and whenever one is sent.
  public func subscribeToCost(
    with handler: @escaping @Sendable (_ isMetered: Bool) -> Void
  ) -> QuerySubscription {
    self.costs.subscribe(emittingFirst: true, handler)
  }
}
