extension QueryContext {
  /// What tells whether the network is there. That of the client's default creator, where it has one;
  /// nil: nobody knows, and everything is tried.
  public var networkObserver: (any NetworkObserver)? {
    get { self[NetworkObserverKey.self] }
    set { self[NetworkObserverKey.self] = newValue }
  }

  private enum NetworkObserverKey: Key {
    static var defaultValue: (any NetworkObserver)? { nil }
  }

  var isAttemptedWhileOffline: Bool {
    get { self[AttemptsWhileOfflineKey.self] }
    set { self[AttemptsWhileOfflineKey.self] = newValue }
  }

  private enum AttemptsWhileOfflineKey: Key {
    static var defaultValue: Bool { false }
  }

  /// Whether the network is known not to be there.
  var isKnownToBeOffline: Bool {
    guard let observer = self.networkObserver else { return false }
    return observer.currentStatus < self.satisfiedConnectionStatus
  }
}

extension MutationRequest {
  /// Lets `mutate` of this durable mutation make an attempt while the network is known not to be there,
  /// instead of leaving it queued: for servers that need none.
  public func attemptsWhileOffline() -> ModifiedQuery<
    Self, _AttemptsWhileOfflineModifier<Self>
  > {
    self.modifier(_AttemptsWhileOfflineModifier())
  }
}

public struct _AttemptsWhileOfflineModifier<Query: MutationRequest>: _ContextUpdatingQueryModifier {
  public func setup(context: inout QueryContext) { context.isAttemptedWhileOffline = true }
}
