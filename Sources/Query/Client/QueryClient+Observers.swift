extension QueryClient {
  private static let observers = Locked<
    (network: (any NetworkObserver)?, activity: (any ApplicationActivityObserver)?)
  >((nil, nil))

  /// The network observer of clients created from now on with the default creator. nil until it is
  /// set; the module `SystemNetwork` offers one.
  public static var defaultNetworkObserver: (any NetworkObserver)? {
    get { Self.observers.withLock { $0.network } }
    set {
      // The old one is released after the lock: it is user code.
      let old = Self.observers.withLock { observers in
        defer { observers.network = newValue }
        return observers.network
      }
      withExtendedLifetime(old) {}
    }
  }

  /// The activity observer of clients created from now on with the default creator. nil until it is
  /// set.
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
