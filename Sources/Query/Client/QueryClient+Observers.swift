import Synchronization

extension QueryClient {
  private static let observers = Mutex<
    (network: (any NetworkObserver)?, activity: (any ApplicationActivityObserver)?)
  >((nil, nil))

  /// What tells clients that are created from now on, with the default creator, whether the network
  /// is there. Nothing until it is set; the module `SystemNetwork` offers one.
  public static var defaultNetworkObserver: (any NetworkObserver)? {
    get { Self.observers.withLock { $0.network } }
    set { Self.observers.withLock { $0.network = newValue } }
  }

  /// What tells clients that are created from now on, with the default creator, whether the
  /// application is active. Nothing until it is set.
  public static var defaultApplicationActivityObserver: (any ApplicationActivityObserver)? {
    get { Self.observers.withLock { $0.activity } }
    set { Self.observers.withLock { $0.activity = newValue } }
  }
}
