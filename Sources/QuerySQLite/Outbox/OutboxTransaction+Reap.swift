import Foundation
import Query

// MARK: - Reaping

extension OutboxTransaction {
  /// A lease of the partition.
  private struct Lease {
    let owner: String
    let bootID: String
    let endMonotonic: Int64
    let number: Int64

    init(_ row: SQLiteStatement) throws {
      self.owner = try row.optionalText(at: 0) ?? ""
      self.bootID = try row.optionalText(at: 1) ?? ""
      self.endMonotonic = try row.optionalInteger(at: 2) ?? 0
      self.number = try row.integer(at: 3)
    }
  }

  /// Takes back rows whose owner has exited, or has sent no heartbeat for a whole lease.
  ///
  /// - Returns: How long until the next lease of another process ends; nil if there is none.
  /// - Throws: `StorageError`.
  mutating func reap() throws -> Duration? {
    let leases = try self.connection.rows(OwnerRow.leases, self.partition.id) { try Lease($0) }
    var first: Int64?
    var gone = [String: Bool]()
    for lease in leases {
      if lease.owner == self.terms.owner {
        // It belongs to a commit that was reported to this process as failed.
        if self.terms.leases[lease.number] == nil { try self.reap(lease, isCrash: false) }
        continue
      }
      let isGone = gone[lease.owner] ?? self.terms.reaper.isGone(lease.owner)
      gone[lease.owner] = isGone
      if isGone {
        self.outcome.hasReaped = true
        try self.reap(lease, isCrash: lease.bootID == self.now.bootID)
        continue
      }
      let left = self.remaining(lease)
      if left <= 0 {
        try self.reap(lease, isCrash: false)
      } else {
        first = min(first ?? left, left)
      }
    }
    return first.map { .microseconds($0) }
  }

  /// How many microseconds a lease still lasts. One of another boot has other clocks: it lasts as
  /// long as its owner is seen to extend it.
  private func remaining(_ lease: Lease) -> Int64 {
    let now = Int64(self.now.monotonic)
    if lease.bootID == self.now.bootID { return lease.endMonotonic.clampedDifference(now) }
    return self.terms.reaper.remaining(
      of: lease.number, endMonotonic: lease.endMonotonic, now: now,
      length: self.terms.leaseLength.microseconds)
  }

  /// Takes back a row whose attempt no process runs any more.
  private mutating func reap(_ lease: Lease, isCrash: Bool) throws {
    guard var row = try self.row(lease.number), row.standing.state == .leased else { return }
    try self.endAttempt(row, nil)
    var standing = row.standing
    let sequel = standing.lose(isCrash: isCrash)
    guard sequel == .pending else { return try self.follow(sequel, &row, to: standing) }
    try self.update(&row, to: standing)
    self.tell(.reaped(row.id))
  }

  /// Gives back a row that this process runs, when it stops.
  ///
  /// - Throws: `StorageError`.
  mutating func giveBack(_ number: Int64, token: Int) throws {
    guard let owner = self.terms.owner, var row = try self.row(number),
      row.standing.isLeased(by: owner, token: token)
    else { return }
    try self.endAttempt(row, nil)
    var standing = row.standing
    try self.follow(standing.lose(isCrash: false), &row, to: standing)
  }
}
