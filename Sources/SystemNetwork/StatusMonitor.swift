import Foundation
import Query

/// Follows the network from its creation until it is stopped: GIO, or a test's fake.
protocol StatusMonitor: AnyObject, Sendable {
  /// The status, and its observers. The first call may have to wait for the first status.
  var statuses: StatusList { get }

  /// Whether the network is metered, and the observers of that. Known with the first status.
  var costs: ObserverList<Bool> { get }

  /// Ends the monitor, soon and without waiting for it. Called once.
  func stop()

  /// Asks whether a host can be reached now. The monitor is not stopped before the answer.
  func reachability(of url: URL) async -> NetworkReachability
}
