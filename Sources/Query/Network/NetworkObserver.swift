/// Reports how well the network can be reached.
public protocol NetworkObserver: Sendable {
  /// The status now.
  var currentStatus: NetworkConnectionStatus { get }

  /// Calls a handler with the status, before this returns, and then at each change.
  ///
  /// - Parameter handler: Takes the status.
  /// - Returns: The observation, which ends when it is cancelled.
  func subscribe(
    with handler: @escaping @Sendable (NetworkConnectionStatus) -> Void
  ) -> QuerySubscription
}

/// A network observer that always reports a network, for servers that need none: those of the same
/// machine or site.
///
/// ```swift
/// let replayer = MutationReplayer(client: client, network: .always)
/// ```
public struct AlwaysConnectedNetworkObserver: NetworkObserver {
  /// Creates an observer.
  public init() {}

  /// ``NetworkConnectionStatus/connected``.
  public var currentStatus: NetworkConnectionStatus { .connected }

  /// Calls a handler once, before this returns.
  public func subscribe(
    with handler: @escaping @Sendable (NetworkConnectionStatus) -> Void
  ) -> QuerySubscription {
    handler(.connected)
    return .empty
  }
}

extension NetworkObserver where Self == AlwaysConnectedNetworkObserver {
  /// The observer that always reports a network.
  public static var always: AlwaysConnectedNetworkObserver { AlwaysConnectedNetworkObserver() }
}

/// A network observer for tests: it reports the status that the test sets.
public final class MockNetworkObserver: NetworkObserver {
  private let values: ObserverList<NetworkConnectionStatus>
  let costs = ObserverList(false)

  /// Creates an observer.
  ///
  /// - Parameter initialStatus: The status until another one is sent.
  public init(initialStatus: NetworkConnectionStatus = .connected) {
    self.values = ObserverList(initialStatus)
  }

  /// The status that was sent last.
  public var currentStatus: NetworkConnectionStatus { self.values.value }

  /// How many subscriptions there are.
  public var subscriberCount: Int { self.values.count }

  /// Changes the status, and calls all handlers with it.
  ///
  /// - Parameter status: The new status.
  public func send(status: NetworkConnectionStatus) { self.values.send(status) }

  /// Calls a handler with the status now, and whenever one is sent.
  public func subscribe(
    with handler: @escaping @Sendable (NetworkConnectionStatus) -> Void
  ) -> QuerySubscription {
    self.values.subscribe(emittingFirst: true, handler)
  }
}
