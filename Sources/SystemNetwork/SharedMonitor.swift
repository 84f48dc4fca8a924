import Query

/// A monitor with any number of users, which runs while it has one.
final class SharedMonitor: Sendable {
  /// The system's, shared by all ``SystemNetworkObserver``s of this process.
  static let system = SharedMonitor { MonitorThread.start() }

  /// Guarded by the mutex. There is a monitor while there are users.
  private struct State {
    var users = 0
    var monitor: (any StatusMonitor)?
  }

  private let state = Locked(State())
  private let start: @Sendable () -> any StatusMonitor

  /// - Parameter start: Starts a monitor, without waiting for its first status. It runs under a
  ///   lock.
  init(start: @escaping @Sendable () -> any StatusMonitor) { self.start = start }

  /// The monitor, if it runs.
  var running: (any StatusMonitor)? { self.state.withLock { $0.monitor } }

  /// Starts the monitor unless it runs, and keeps it running.
  ///
  /// - Returns: The monitor, and a subscription that ends this use of it when it is cancelled.
  func use() -> (monitor: any StatusMonitor, end: QuerySubscription) {
    let monitor = self.state.withLock { state in
      let monitor = state.monitor ?? self.start()
      state.users += 1
      state.monitor = monitor
      return monitor
    }
    return (monitor, QuerySubscription { self.endUse() })
  }

  private func endUse() {
    let unused = self.state.withLock { state -> (any StatusMonitor)? in
      state.users -= 1
      guard state.users == 0 else { return nil }
      defer { state.monitor = nil }
      return state.monitor
    }
    unused?.stop()
  }
}
