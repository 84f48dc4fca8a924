import Query

/// A status that changes, and its observers.
///
/// No handler is called under a lock. Each gets the statuses one at a time, in order and never the
/// same twice in a row; one that comes while a thread calls the handler follows after that call.
final class StatusList: Sendable {
  private let list: ObserverList<NetworkConnectionStatus>

  init(_ value: NetworkConnectionStatus) { self.list = ObserverList(value) }

  var value: NetworkConnectionStatus { self.list.value }

  /// Changes the status and calls all handlers; does nothing if the status is the same.
  func send(_ value: NetworkConnectionStatus) { self.list.send(value, where: !=) }

  /// Calls a handler with the status, before this returns, and with each one that follows.
  func subscribe(
    _ handler: @escaping @Sendable (NetworkConnectionStatus) -> Void
  ) -> QuerySubscription {
    self.list.subscribe(emittingFirst: true, handler)
  }
}
