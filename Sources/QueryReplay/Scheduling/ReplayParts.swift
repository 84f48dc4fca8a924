import Query

/// What the runs of one replayer have in common.
struct ReplayParts: Sendable {
  let outbox: any MutationOutbox
  let network: (any NetworkObserver)?
  /// How well the network must be reached.
  let requiredStatus: NetworkConnectionStatus
  let configuration: ReplayConfiguration
  let ledger: ReplayLedger
  let events: ReplayEventHub
  let registry: @Sendable () -> HandlerRegistry

  var clock: ReplayClock { self.configuration.clock }

  /// How far the network is known to reach.
  enum Reach: Hashable, Sendable {
    /// Everywhere.
    case everywhere
    /// Perhaps nowhere: hosts are probed.
    case perhapsNowhere
    /// To a portal, which would take a write for itself and report success: hosts are not probed.
    case toPortal
  }

  var reach: Reach {
    guard let status = self.network?.currentStatus, status < self.requiredStatus else {
      return .everywhere
    }
    return status == .disconnected ? .perhapsNowhere : .toPortal
  }

  var isOnline: Bool { self.reach == .everywhere }

  /// How long to wait for the storage after so many failures in a row, 1 or more.
  func recovery(after failures: Int) -> Duration {
    let wait = Duration.milliseconds(100) * (1 << min(failures - 1, 16))
    return min(wait, self.configuration.pollInterval)
  }
}
