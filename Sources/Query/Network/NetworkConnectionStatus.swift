/// How well the network can be reached. A greater one is better.
public enum NetworkConnectionStatus: Int, Hashable, Sendable, Comparable {
  /// There is no network.
  case disconnected = 0
  /// There is a network that needs the user first, such as a login.
  case requiresConnection = 1
  /// The network is there.
  case connected = 2

  public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

extension QueryContext {
  /// How well the network must be reached for ``FetchCondition/connected(to:)`` to be satisfied.
  /// ``NetworkConnectionStatus/connected`` by default.
  public var satisfiedConnectionStatus: NetworkConnectionStatus {
    get { self[SatisfiedConnectionStatusKey.self] }
    set { self[SatisfiedConnectionStatusKey.self] = newValue }
  }

  private enum SatisfiedConnectionStatusKey: Key {
    static let defaultValue = NetworkConnectionStatus.connected
  }
}

extension QueryRequest {
  /// Sets how well the network must be reached for this query.
  ///
  /// - Parameter status: The least status that suffices.
  public func satisfiedConnectionStatus(
    _ status: NetworkConnectionStatus
  ) -> ModifiedQuery<Self, _SatisfiedConnectionStatusModifier<Self>> {
    self.modifier(_SatisfiedConnectionStatusModifier(status: status))
  }

  /// Says that this query needs no network: it is not retried, and the network's status does not
  /// matter to it.
  ///
  /// A `retry` nearer to the request than this modifier is kept.
  ///
  /// - Parameter isOffline: Whether it needs no network; `false` changes nothing.
  public func completelyOffline(
    _ isOffline: Bool = true
  ) -> ModifiedQuery<Self, _CompletelyOfflineModifier<Self>> {
    self.modifier(_CompletelyOfflineModifier(isOffline: isOffline))
  }
}

public struct _SatisfiedConnectionStatusModifier<Query: QueryRequest>:
  _ContextUpdatingQueryModifier
{
  let status: NetworkConnectionStatus

  public func setup(context: inout QueryContext) {
    context.satisfiedConnectionStatus = self.status
  }
}

public struct _CompletelyOfflineModifier<Query: QueryRequest>: _ContextUpdatingQueryModifier {
  let isOffline: Bool

  public func setup(context: inout QueryContext) {
    guard self.isOffline else { return }
    context.satisfiedConnectionStatus = .disconnected
    context.maxRetries = 0
    context.queryBackoffFunction = .noBackoff
  }
}
