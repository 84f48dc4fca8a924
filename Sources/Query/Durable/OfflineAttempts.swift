extension QueryContext {
  /// Tells whether there is a network. By default the observer of the client's default creator, if
  /// it has one; nil: the status is unknown, and every attempt is made.
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

  /// Whether the network is known to be down.
  var isKnownToBeOffline: Bool {
    if OfflineProbe.isRunning { return true }
    guard let observer = self.networkObserver else { return false }
    return observer.currentStatus < self.satisfiedConnectionStatus
  }
}

extension MutationRequest {
  /// Lets `mutate` of this durable mutation make an attempt although the network is known to be
  /// down, instead of leaving it queued, and a replayer send it: for servers that can be reached
  /// without one.
  ///
  /// It belongs to the program that sends, and is not stored with a mutation: a row goes by what the
  /// process that sends it has declared, such as a later release or a tool with `--even-offline`.
  public func attemptsWhileOffline() -> ModifiedQuery<
    Self, _AttemptsWhileOfflineModifier<Self>
  > {
    self.modifier(_AttemptsWhileOfflineModifier())
  }
}

public struct _AttemptsWhileOfflineModifier<Query: MutationRequest>: _ContextUpdatingQueryModifier {
  public func setup(context: inout QueryContext) { context.isAttemptedWhileOffline = true }
}

/// An attempt that a replayer makes to find out whether a host can be reached, although the network is
/// known to be down.
package enum OfflineProbe {
  /// Whether the current task runs inside one.
  @TaskLocal package static var isRunning = false
}
