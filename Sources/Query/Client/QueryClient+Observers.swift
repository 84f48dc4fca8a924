extension QueryClient {
  private static let observers = Locked<
    (network: (any NetworkObserver)?, activity: (any ApplicationActivityObserver)?)
  >((nil, nil))

  /// What tells clients that are created from now on, with the default creator, whether the network
  /// is there. Nothing until it is set; the module `SystemNetwork` offers one.
  public static var defaultNetworkObserver: (any NetworkObserver)? {
    get { Self.observers.withLock { $0.network } }
    set {
      // The old one is released after the lock: it is the user's.
      let old = Self.observers.withLock { observers in
        defer { observers.network = newValue }
        return observers.network
      }
      withExtendedLifetime(old) {}
    }
  }

  /// What tells clients that are created from now on, with the default creator, whether the
  /// application is active. Nothing until it is set.
  public static var defaultApplicationActivityObserver: (any ApplicationActivityObserver)? {
    get { Self.observers.withLock { $0.activity } }
    set {
      let old = Self.observers.withLock { observers in
        defer { observers.activity = newValue }
        return observers.activity
      }
      withExtendedLifetime(old) {}
    }
  }
}
