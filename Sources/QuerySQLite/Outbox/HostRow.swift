import FoundationEssentials
import Query

/// The rows of hosts that are not well.
enum HostRow {
  /// Partition.
  static let read: SQL = """
    SELECT host, reason, failures, due_at, due_boottime, due_boot_id, due_delay, probe
    FROM hosts WHERE partition = ?
    """

  /// Partition, host, reason, failures, due_at, due_boottime, due_boot_id, due_delay, probe.
  static let write: SQL = """
    INSERT OR REPLACE INTO hosts
      (partition, host, reason, failures, due_at, due_boottime, due_boot_id, due_delay, probe)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// Partition, host.
  static let delete: SQL = "DELETE FROM hosts WHERE partition = ? AND host = ?"

  /// Partition, limit.
  static let erase: SQL = """
    DELETE FROM hosts WHERE partition = ?1
      AND host IN (SELECT host FROM hosts WHERE partition = ?1 LIMIT ?2)
    """

  /// Number: when its attempt has begun.
  static let startOfLeased: SQL = """
    SELECT coalesce(lease_started_monotonic, 0), coalesce(lease_boot_id, '') FROM outbox
    WHERE number = ? AND state = 'leased'
    """

  /// Reads the hosts of a partition that are not well.
  ///
  /// - Throws: `StorageError`.
  static func standings(
    of partition: OutboxPartitionRow, on connection: SQLiteConnection
  ) throws -> [String: HostStanding] {
    if partition.illHosts == 0 { return [:] }
    let rows = try connection.rows(Self.read, partition.id) { row in
      (
        host: try row.text(at: 0),
        standing: HostStanding(
          // A word of a later release: the host is left alone until its time.
          reason: HostStanding.Reason(rawValue: try row.text(at: 1)) ?? .askedToWait,
          failures: Int(try row.integer(at: 2)),
          wait: OutboxDelay(
            endAt: try row.integer(at: 3), endBoottime: try row.integer(at: 4),
            bootID: try row.text(at: 5), length: try row.integer(at: 6)),
          probe: try row.optionalInteger(at: 7))
      )
    }
    return Dictionary(rows.map { ($0.host, $0.standing) }) { first, _ in first }
  }
}

extension OutboxTransaction {
  /// Reads the hosts that are not well, if there are any.
  ///
  /// - Throws: `StorageError`.
  mutating func loadHosts() throws {
    if self.hosts != nil { return }
    let hosts = try HostRow.standings(of: self.partition, on: self.connection)
    self.hosts = hosts
    if self.partition.illHosts != hosts.count { self.partition.illHosts = hosts.count }
  }

  /// What is known against a host. The hosts must be loaded.
  func standing(ofHost host: String) -> HostStanding? { self.hosts?[host] }

  /// Records the standing of a host; nil: it is well.
  ///
  /// - Throws: `StorageError`.
  mutating func setHost(_ host: String, to new: HostStanding?) throws {
    try self.loadHosts()
    let old = self.hosts?[host]
    if old == new { return }
    self.hosts?[host] = new
    if let new {
      try self.connection.execute(
        HostRow.write, self.partition.id, host, new.reason.rawValue, new.failures, new.wait.endAt,
        new.wait.endBoottime, new.wait.bootID, new.wait.length, new.probe)
    } else {
      try self.connection.execute(HostRow.delete, self.partition.id, host)
    }
    self.partition.illHosts = self.hosts?.count ?? 0
  }

  /// Notes what the end of an attempt says about its host.
  ///
  /// - Throws: `StorageError`.
  mutating func note(_ report: HostReport, of row: OutboxRow) throws {
    // Most hosts are well, and nothing is read or written for them.
    if report == .nothing || report == .answered && self.partition.illHosts == 0 { return }
    try self.loadHosts()
    let host = row.effectiveHost
    let isOld = row.standing.credentialsEpoch != self.partition.credentialsEpoch
    try self.setHost(
      host,
      to: HostStanding.after(
        report, self.standing(ofHost: host), areCredentialsOld: isOld, at: self.now))
  }

  /// Changes all hosts that are not well.
  ///
  /// - Throws: `StorageError`.
  mutating func changeHosts(_ change: (HostStanding) -> HostStanding?) throws {
    try self.loadHosts()
    for (host, standing) in self.hosts ?? [:] { try self.setHost(host, to: change(standing)) }
  }

  /// What is left of a claim's slots, given how the hosts are. Those are forgotten to which nothing
  /// was sent for long.
  ///
  /// - Throws: `StorageError`.
  mutating func limit(_ slots: inout HostSlots) throws {
    for (host, standing) in self.hosts ?? [:] {
      if standing.isForgotten(at: self.now) {
        try self.setHost(host, to: nil)
      } else {
        let isProbed = try self.probeLeft(standing) != nil
        slots.limit(host, by: standing, isProbed: isProbed, at: self.now)
      }
    }
  }

  /// How long the probe of a host holds the others back; nil: none does.
  private func probeLeft(_ standing: HostStanding) throws -> Duration? {
    guard let probe = standing.probe else { return nil }
    let lease = try self.connection.first(HostRow.startOfLeased, probe) { row in
      OutboxStanding.Lease(
        owner: "", endMonotonic: 0, bootID: try row.text(at: 1),
        startedMonotonic: try row.integer(at: 0), startedAt: 0)
    }
    return lease.flatMap { HostStanding.left(ofProbe: $0, at: self.now) }
  }

  /// Notes that a row is leased, which is its host's probe if that waits for one.
  ///
  /// - Throws: `StorageError`.
  mutating func noteProbe(_ row: OutboxRow) throws {
    let host = row.effectiveHost
    guard var standing = self.standing(ofHost: host), standing.room(at: self.now) == .probe,
      try self.probeLeft(standing) == nil
    else { return }
    standing.probe = row.number
    try self.setHost(host, to: standing)
  }

  /// Whether the host of a row has asked for what even its caller waits for.
  func hostHoldsCallers(_ host: String) -> Bool {
    self.standing(ofHost: host)?.holdsCallers(at: self.now) ?? false
  }

  /// How long nothing is sent yet to a host, if that ends with time.
  ///
  /// - Throws: `StorageError`.
  func hold(ofHost host: String) throws -> Duration? {
    guard let standing = self.standing(ofHost: host) else { return nil }
    switch standing.room(at: self.now) {
    case .any: return nil
    case .none: return standing.remaining(self.now).map { .microseconds($0) }
    case .probe: return try self.probeLeft(standing)
    }
  }
}
