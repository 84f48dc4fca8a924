import FoundationEssentials
import Query

// MARK: - Rows that grow too old

extension OutboxTransaction {
  /// How many rows one transaction declares dead; the next follows soon.
  static let expiredAtOnce = 64

  /// How long a row that should have gone is left, in microseconds.
  private static let untilLeftIsLookedFor: Int64 = 60_000_000

  /// Partition, boot, time, limit: rows whose time is over.
  static let overdue: SQL = """
    SELECT number FROM outbox
    WHERE max_age IS NOT NULL AND state = 'pending' AND partition = ? AND age_boot_id = ?
      AND age_boottime + max_age < ?
    ORDER BY age_boottime + max_age LIMIT ?
    """

  /// Partition, boot: since when the first one waits, and for how long it may.
  static let nextExpiry: SQL = """
    SELECT age_boottime, max_age FROM outbox
    WHERE max_age IS NOT NULL AND state = 'pending' AND partition = ? AND age_boot_id = ?
    ORDER BY age_boottime + max_age LIMIT 1
    """

  /// Partition, boot, number, limit: those of earlier boots after it.
  static let olderThanBoot: SQL = """
    SELECT number FROM outbox NOT INDEXED
    WHERE max_age IS NOT NULL AND state = 'pending' AND partition = ? AND age_boot_id <> ?
      AND number > ?
    ORDER BY number LIMIT ?
    """

  /// Declares rows dead that have grown too old, whether any process claims them or not: nothing is sent
  /// that its sender no longer wants, and nobody waits for it.
  ///
  /// - Throws: `StorageError`.
  mutating func expire() throws {
    if self.partition.counts.pending == 0 { return }
    let now = Int64(self.now.boottime)
    switch self.memory.expiry {
    case .none: return
    case .at(let time) where time >= now: return
    case .at, .unknown: break
    }
    let numbers = try self.connection.rows(
      Self.overdue, self.partition.id, self.now.bootID, now, Self.expiredAtOnce
    ) { try $0.integer(at: 0) }
    for number in numbers { try self.expire(number) }
    let next = try self.connection.first(
      Self.nextExpiry, self.partition.id, self.now.bootID
    ) { try $0.integer(at: 0).clampedSum(try $0.integer(at: 1)) }
    // One that is overdue and was left, in a damaged file, is no reason to look all the time.
    let isLeft = numbers.count < Self.expiredAtOnce
    let later = now.clampedSum(Self.untilLeftIsLookedFor)
    self.memory.expiry = next.map { .at(isLeft && $0 < now ? later : $0) } ?? .none
  }

  private mutating func expire(_ number: Int64) throws {
    guard var row = try self.row(number), row.standing.state == .pending, self.isTooOld(row) else {
      return
    }
    try self.kill(&row, .expired)
    self.expired += 1
  }

  /// The same for rows of earlier boots, of which other clocks tell the age.
  ///
  /// - Parameters:
  ///   - last: The number of the last row examined; 0 for the first call.
  ///   - budget: The limit of this step.
  /// - Throws: `StorageError`.
  mutating func expireOlder(after last: Int64, _ budget: StepBudget) throws {
    let numbers = try self.connection.rows(
      Self.olderThanBoot, self.partition.id, self.now.bootID, last, budget.rows
    ) { try $0.integer(at: 0) }
    if !numbers.isEmpty { self.outcome.hasRowsOfEarlierBoots = true }
    for (index, number) in numbers.enumerated() {
      if budget.isSpent(after: index) {
        self.outcome.olderLeft = numbers[index - 1]
        return
      }
      try self.expire(number)
    }
    if numbers.count >= budget.rows { self.outcome.olderLeft = numbers.last }
  }

  /// Notes that a row waits, which may grow too old.
  mutating func noteExpiry(of row: OutboxRow) {
    guard let maxAge = row.maxAge, row.standing.state == .pending,
      row.age.bootID == self.now.bootID
    else { return }
    let end = row.age.startBoottime.clampedSum(maxAge)
    switch self.memory.expiry {
    case .none: self.memory.expiry = .at(end)
    case .at(let time): self.memory.expiry = .at(min(time, end))
    case .unknown: break
    }
  }

  /// How long until the first row grows too old; nil: none does, or it is not known.
  var untilExpiry: Duration? {
    guard self.partition.counts.pending > 0, case .at(let time) = self.memory.expiry else {
      return nil
    }
    let left = time.clampedDifference(Int64(self.now.boottime))
    return .microseconds(max(left, 0).clampedSum(1))
  }
}
