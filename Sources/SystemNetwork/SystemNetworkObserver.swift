public import Foundation
public import Query

/// What the system knows of the network, by GIO's `GNetworkMonitor`: NetworkManager if it runs, the
/// desktop portal inside a sandbox, and the kernel's routes otherwise.
///
/// An application installs the shared one before it creates its clients:
/// ```swift
/// SystemNetworkObserver.install()
/// let client = QueryClient()
/// ```
/// With full connectivity the status is `connected`; behind a portal, or
/// with limited connectivity, `requiresConnection`; without a default
/// route `disconnected`. It is a hint to try sooner, never a verdict.
///
/// All observers of a process share one monitor and its thread. They run while there is a
/// subscription; a read of ``currentStatus`` without a subscription keeps them running until that
/// observer is gone, which for the shared one is the end of the process. Nothing runs before the
/// first use, which waits for the system's first answer: some milliseconds with NetworkManager,
/// less than one without. If it has not come after half a second, the status is `connected` until it
/// comes.
///
/// The monitor's thread calls the handlers, except that the first call comes on the subscriber's
/// thread. A handler holds up all others, so it must return soon.
public final class SystemNetworkObserver: NetworkCostObserver {
  /// The observer that applications share.
  public static let shared = SystemNetworkObserver()

  private let monitor: SharedMonitor
  /// The use of the monitor that a read of the status began.
  private let use = Locked<QuerySubscription?>(nil)

  /// Creates a separate observer. It does not contact the system before it is used.
  public init() { self.monitor = .system }

  init(monitor: SharedMonitor) { self.monitor = monitor }

  /// Makes the shared observer the `QueryClient.defaultNetworkObserver`, which clients created from
  /// now on with the default creator use.
  public static func install() { QueryClient.defaultNetworkObserver = Self.shared }

  /// The status now.
  public var currentStatus: NetworkConnectionStatus { self.usedMonitor.statuses.value }

  /// The monitor, which runs from now on.
  private var usedMonitor: any StatusMonitor {
    if let running = self.monitor.running { return running }
    let (monitor, end) = self.monitor.use()
    // If another thread was first, its use is kept, and this one ends with its last reference.
    self.use.withLock { use in if use == nil { use = end } }
    return monitor
  }

  /// Calls a handler with the status, before this returns, and then at each change: in order, and
  /// never with the same status twice in a row.
  ///
  /// - Parameter handler: Takes the status.
  /// - Returns: The observation, which ends when it is cancelled. It does not need the observer.
  public func subscribe(
    with handler: @escaping @Sendable (NetworkConnectionStatus) -> Void
  ) -> QuerySubscription {
    let (monitor, end) = self.monitor.use()
    return .combined(monitor.statuses.subscribe(handler), end)
  }

  /// Whether the network of now is metered: as NetworkManager says, or the portal. Without either it is
  /// not known, and counts as unmetered.
  public var isMetered: Bool {
    let monitor = self.usedMonitor
    // Waits for the system's first answer.
    _ = monitor.statuses
    return monitor.costs.value
  }

  /// Calls a handler with ``isMetered``, before this returns, and then at each change, as
  /// ``subscribe(with:)`` does.
  ///
  /// - Parameter handler: Takes whether the network is metered.
  /// - Returns: The observation, which ends when it is cancelled. It does not need the observer.
  public func subscribeToCost(
    with handler: @escaping @Sendable (_ isMetered: Bool) -> Void
  ) -> QuerySubscription {
    let (monitor, end) = self.monitor.use()
    _ = monitor.statuses
    return .combined(monitor.costs.subscribe(emittingFirst: true, handler), end)
  }

  /// Asks whether the host of a URL can be reached now: whether its name can be resolved, and a
  /// route leads to one of its addresses. Nothing is sent to the host.
  ///
  /// The answer takes as long as the resolver does, which may be many seconds without a network.
  /// Cancelling the task ends the wait.
  ///
  /// - Parameter url: A URL with a host; the path does not matter.
  /// - Returns: The answer; ``NetworkReachability/unknown`` if the task is cancelled before it.
  public func reachability(of url: URL) async -> NetworkReachability {
    let (monitor, end) = self.monitor.use()
    defer { end.cancel() }
    return await monitor.reachability(of: url)
  }
}
