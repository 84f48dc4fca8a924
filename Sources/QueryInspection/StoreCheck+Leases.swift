import FoundationEssentials
import Glibc
import Query
import QuerySQLite

// MARK: - Leases

extension StoreCheck {
  /// Partition: its leases. Number, id, owner, boot, end.
  private static let leases: SQL = """
    SELECT number, id, lease_owner, lease_boot_id, lease_end_monotonic FROM outbox
    WHERE state = 'leased' AND partition = ? ORDER BY number
    """

  /// The lease of a mutation that some process runs.
  private struct Lease {
    let partition: String
    let id: UUID
    let owner: String
    let bootID: String
    let endMonotonic: Int64

    init(_ row: SQLiteStatement, _ partition: String) throws {
      self.partition = partition
      self.id = try row.uuid(at: 1)
      self.owner = try row.optionalText(at: 2) ?? ""
      self.bootID = try row.optionalText(at: 3) ?? ""
      self.endMonotonic = try row.optionalInteger(at: 4) ?? 0
    }
  }

  /// A lease that ended longer ago than this, in microseconds, counts as not taken back: live
  /// processes look more often.
  private static let tolerance: Int64 = 60_000_000

  /// Looks for running mutations whose process has exited.
  func checkLeases(_ names: [(id: Int64, name: String)]) throws {
    let now = OutboxClock.system.now()
    let leases = try self.store.mutationsFile.read { connection in
      try names.flatMap { id, name in
        try connection.rows(Self.leases, id) { try Lease($0, name) }
      }
    }
    for lease in leases {
      let subject = lease.id.uuidString.lowercased()
      if self.isGone(lease.owner) {
        try self.report(
          .ownerGone, .mutations, "the process that ran it is gone, owner \(lease.owner)",
          partition: lease.partition, subject: subject)
        continue
      }
      // The clock of another boot tells nothing.
      let over = Int64(now.monotonic).clampedDifference(lease.endMonotonic)
      if lease.bootID == now.bootID, over > Self.tolerance {
        try self.report(
          .endedLease, .mutations, "its lease ended \(over / 1_000_000) s ago",
          partition: lease.partition, subject: subject)
      }
    }
  }

  /// Whether an owner's lock is free, or its file was removed: then its process has exited. Tried
  /// shared, so that another process that tries it meanwhile does not take this one for the owner
  /// for long.
  private func isGone(_ owner: String) -> Bool {
    guard UUID(uuidString: owner) != nil else { return false }
    let path = "\(OwnerFile.folder(in: self.store.mutationsFile.folder))/\(owner)"
    // Bytes: the lock of an owner.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return errno == ENOENT }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) == 0
  }
}
