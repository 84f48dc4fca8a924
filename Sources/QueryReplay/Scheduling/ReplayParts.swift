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

  var isOnline: Bool {
    guard let network = self.network else { return true }
    return network.currentStatus >= self.requiredStatus
  }

  /// How long to wait for the storage after so many failures in a row, 1 or more.
  func recovery(after failures: Int) -> Duration {
    let wait = Duration.milliseconds(100) * (1 << min(failures - 1, 16))
    return min(wait, self.configuration.pollInterval)
  }
}
