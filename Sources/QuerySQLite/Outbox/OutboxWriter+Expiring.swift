import FoundationEssentials
import Query

extension OutboxWriter {
  /// How long the age of rows of earlier boots goes unchecked: it depends on the wall clock, which may be
  /// set.
  private static let untilOlderAreChecked = Duration.seconds(3_600)

  /// Schedules what makes rows dead that grow too old while nobody claims them.
  func scheduleExpiry(of partition: OutboxPartition, _ change: OutboxTransaction) {
    self.expiredCounts[partition.name] = change.expired
    self.expiries[partition.name] = change.untilExpiry.map { .now + $0 }
    if change.outcome.hasRowsOfEarlierBoots, self.olderExpiries[partition.name] == nil {
      self.olderExpiries[partition.name] = .now + Self.untilOlderAreChecked
    }
  }

  /// Does what is due.
  func expire(_ now: SuspendingClock.Instant) {
    if self.expiries.isEmpty, self.olderExpiries.isEmpty { return }
    for partition in self.database.partitions {
      let name = partition.name
      if let due = self.expiries[name], now >= due {
        self.expiries[name] = nil
        self.chores.add(.expire, of: partition)
      }
      if let due = self.olderExpiries[name], now >= due {
        self.olderExpiries[name] = nil
        self.chores.add(.expireOlder(after: 0), of: partition)
      }
    }
  }

  /// Whether there is something to do: a transaction that changes nothing would put off the checkpoint.
  func isNeeded(_ chore: OutboxChores.Chore, _ partition: OutboxPartition) -> Bool {
    guard let connection = self.connection,
      let row = try? OutboxPartitionRow.find(partition.name, on: connection)
    else { return true }
    let now = self.now
    switch chore {
    case .expire:
      let next = try? connection.first(OutboxTransaction.nextExpiry, row.id, now.bootID) {
        try $0.integer(at: 0).clampedSum(try $0.integer(at: 1))
      }
      guard let next else { return false }
      let left = next.clampedDifference(Int64(now.boottime))
      if left < 0 { return true }
      self.expiries[partition.name] = .now + .microseconds(left.clampedSum(1))
      return false
    case .expireOlder(let last):
      let isAny = try? connection.first(
        OutboxTransaction.olderThanBoot, row.id, now.bootID, last, 1
      ) { _ in true }
      return isAny == true
    default: return true
    }
  }
}
