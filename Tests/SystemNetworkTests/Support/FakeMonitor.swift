import Foundation
import Query

@testable import SystemNetwork

/// A monitor that says what a test tells it.
final class FakeMonitor: StatusMonitor {
  let statuses: StatusList
  let costs = ObserverList(false)
  private let stops = Locked(0)

  init(_ status: NetworkConnectionStatus) { self.statuses = StatusList(status) }

  /// How often it was stopped.
  var stopCount: Int { self.stops.withLock { $0 } }

  func stop() { self.stops.withLock { $0 += 1 } }

  /// Hosts called `reachable` are; others are not.
  func reachability(of url: URL) async -> NetworkReachability {
    url.host() == "reachable" ? .reachable : .unreachable
  }
}

/// Makes fakes, and keeps those that it made.
final class FakeMonitors: Sendable {
  private let made = Locked([FakeMonitor]())
  private let status: NetworkConnectionStatus

  /// - Parameter status: The first status of each.
  init(_ status: NetworkConnectionStatus = .connected) { self.status = status }

  var all: [FakeMonitor] { self.made.withLock { $0 } }

  /// What shares them.
  func shared() -> SharedMonitor {
    SharedMonitor {
      let monitor = FakeMonitor(self.status)
      self.made.withLock { $0.append(monitor) }
      return monitor
    }
  }
}
