import FoundationEssentials
import Query

// MARK: - Leases

extension OutboxWriter {
  /// Makes this process's lock file, before its first claim; a new one if the folder was emptied.
  ///
  /// - Throws: `StorageError`.
  func ensureOwner() throws {
    if self.owner != nil { return }
    self.owner = try OwnerFile(in: self.opener.folder)
    self.isOwnerRecorded = false
  }

  /// Extends the leases, and checks whether this process still holds them and they are still
  /// wanted.
  func beat() {
    self.heartbeatDue = .now + self.heartbeatInterval
    do {
      let connection = try self.usableConnection()
      guard let owner = self.owner?.name else { return }
      let end = Int64(self.now.monotonic)
        .clampedSum(self.configuration.leaseLength.microseconds)
      var lost = Set<Int64>()
      var cancelled = [MutationLease]()
      try connection.write {
        for (number, held) in self.leases {
          let isCancelled = try connection.first(
            OwnerRow.readLease, number, owner, held.lease.token
          ) { try $0.bool(at: 0) }
          if let isCancelled {
            try connection.execute(OwnerRow.extend, end, number)
            if isCancelled { cancelled.append(held.lease) }
          } else {
            lost.insert(number)
          }
        }
      }
      self.heartbeatDue = .now + self.untilNextBeat
      self.didWork()
      self.loseLeases { lost.contains(Int64($0.lease.entry.number)) }
      for held in self.leases.values { self.limit(held.lease, to: end) }
      for lease in cancelled { lease.revoke(.cancelRequested) }
      self.didWrite(connection)
    } catch {
      self.didFail(error)
      // Well before another process would take the rows.
      self.heartbeatDue = .now + self.configuration.leaseLength / 12
    }
  }

  /// Looks for the leases that this process holds in the file that was opened: it may be another one, which
  /// a salvage has made, with other numbers of accounts and without what could not be read.
  ///
  /// - Throws: `StorageError`.
  func checkLeases(_ connection: SQLiteConnection) throws {
    guard !self.leases.isEmpty, let owner = self.owner?.name else { return }
    var held = [Int64: HeldLease]()
    try connection.read {
      for (number, known) in self.leases {
        let epoch = try OutboxPartitionRow.find(known.partition.name, on: connection)?.epoch
        guard epoch == Int64(known.lease.epoch),
          let row = try connection.first(OutboxRow.read, number, read: OutboxRow.init),
          row.id == known.lease.entry.id,
          row.standing.isLeased(by: owner, token: known.lease.token)
        else { continue }
        held[number] = HeldLease(
          leased: OutboxTransaction.LeasedRow(lease: known.lease, row: row),
          partition: known.partition)
      }
    }
    self.leases.merge(held) { $1 }
    self.loseLeases { held[Int64($0.lease.entry.number)] == nil }
  }

  /// Passes on what another process has asked for.
  func revokeCancelled() {
    guard !self.leases.isEmpty, let connection = self.connection, let owner = self.owner?.name
    else { return }
    // The next extension of the leases looks, too.
    let numbers = try? connection.rows(OwnerRow.cancelled, owner) { try $0.integer(at: 0) }
    for number in numbers ?? [] { self.leases[number]?.lease.revoke(.cancelRequested) }
  }

  /// Lets an attempt begin until shortly before the end of its lease. They are extended after a third of
  /// their length, so that only a process that is late in that comes so close.
  func limit(_ lease: MutationLease, to end: Int64) {
    let margin = self.configuration.leaseLength.microseconds / 6
    lease.mayBegin(until: end.clampedDifference(margin), by: self.configuration.outboxClock)
  }

  /// How long until leases are to be extended: for one that is long enough for its attempt not to be
  /// blamed for a crash, as soon as it is, since only an extension shows that.
  private var untilNextBeat: Duration {
    let now = Int64(self.now.monotonic)
    var next = self.heartbeatInterval
    for held in self.leases.values {
      guard let start = held.leased.row.standing.lease?.startedMonotonic else { continue }
      let left = OutboxStanding.longRun - .microseconds(now.clampedDifference(start))
      if left > .zero { next = min(next, left + .milliseconds(1)) }
    }
    return next
  }

  /// Ends leases that this process no longer holds.
  func loseLeases(_ isLost: (HeldLease) -> Bool) {
    let lost = self.leases.filter { isLost($0.value) }
    for number in lost.keys { self.leases[number] = nil }
    if self.leases.isEmpty { self.heartbeatDue = nil }
    for held in lost.values { held.lease.revoke(.lost) }
  }

  /// Makes the rows that this process runs pending again, when it stops.
  ///
  /// - Throws: `StorageError`.
  func giveBackLeases() throws {
    if self.leases.isEmpty { return }
    let connection = try self.usableConnection()
    let now = self.now
    let held = self.leases.sorted { $0.key < $1.key }
    var changes = [PartitionChanges]()
    try connection.write {
      for (number, held) in held {
        let change =
          try changes.first { $0.partition === held.partition }
          ?? {
            let change = PartitionChanges(
              held.partition, try self.begin(held.partition, connection, now))
            changes.append(change)
            return change
          }()
        try change.changes.giveBack(number, token: held.lease.token)
      }
      for change in changes { try change.changes.finish() }
    }
    self.loseLeases { _ in true }
    self.noteSuccess(of: changes)
    self.didCommit(connection, changes)
    self.didTell(changes)
  }

  /// Owner: a row that an exited owner still holds.
  private static let leaseOfOwner: SQL = """
    SELECT 1 FROM outbox INDEXED BY outbox_leased
    WHERE state = 'leased' AND lease_owner = ? LIMIT 1
    """

  /// Removes the files of owners that have exited and left no row to take back.
  func sweepOwners(_ connection: SQLiteConnection) throws {
    for name in self.reaper.names where name != self.owner?.name && self.reaper.isGone(name) {
      let hasLease = try connection.first(Self.leaseOfOwner, name) { _ in true } ?? false
      if hasLease { continue }
      self.reaper.remove(name)
      try connection.write { try connection.execute(OwnerRow.delete, name) }
    }
  }
}
