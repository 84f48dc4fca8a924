import Query

/// The row of an account in `mutations.sqlite`.
struct OutboxPartitionRow: Equatable {
  var id: Int64
  /// Raised by `erase()`: a settle with an older one is dropped.
  var epoch: Int64
  var isErasing: Bool
  /// Raised by each transaction that changes the outbox.
  var revision: Int64
  /// Raised when lanes that wait for credentials are released.
  var credentialsEpoch: Int64
  var pausedAt: Int64?
  var counts: OutboxCounts
  var historyCount: Int64
  var historyBytes: Int64
}

// MARK: - SQL

extension OutboxPartitionRow {
  /// Name.
  static let insert: SQL = "INSERT INTO partitions (name) VALUES (?) ON CONFLICT DO NOTHING"

  /// Name.
  static let read: SQL = """
    SELECT id, epoch, is_erasing, revision, credentials_epoch, paused_at, pending_count,
      leased_count, dead_count, history_count, history_bytes
    FROM partitions WHERE name = ?
    """

  /// All but the name, the id last.
  static let update: SQL = """
    UPDATE partitions SET epoch = ?, is_erasing = ?, revision = ?, credentials_epoch = ?,
      paused_at = ?, pending_count = ?, leased_count = ?, dead_count = ?, history_count = ?,
      history_bytes = ?
    WHERE id = ?
    """

  /// Id, epoch.
  static let endErasing: SQL = "UPDATE partitions SET is_erasing = 0 WHERE id = ? AND epoch = ?"

  init(_ row: SQLiteStatement) throws {
    self.id = try row.integer(at: 0)
    self.epoch = try row.integer(at: 1)
    self.isErasing = try row.bool(at: 2)
    self.revision = try row.integer(at: 3)
    self.credentialsEpoch = try row.integer(at: 4)
    self.pausedAt = try row.optionalInteger(at: 5)
    self.counts = OutboxCounts(
      pending: Int(try row.integer(at: 6)), leased: Int(try row.integer(at: 7)),
      dead: Int(try row.integer(at: 8)))
    self.historyCount = try row.integer(at: 9)
    self.historyBytes = try row.integer(at: 10)
  }

  /// Writes it.
  ///
  /// - Throws: `StorageError`.
  func save(on connection: SQLiteConnection) throws {
    try connection.execute(
      Self.update, self.epoch, self.isErasing, self.revision, self.credentialsEpoch,
      self.pausedAt, self.counts.pending, self.counts.leased, self.counts.dead,
      self.historyCount, self.historyBytes, self.id)
  }
}

/// The boot that the heads' times are of, and the latest wall time that was known to be right.
enum ClockRow {
  static let read: SQL = "SELECT boot_id, synchronised_at FROM clock WHERE id = 1"

  /// Boot.
  static let setBoot: SQL = "UPDATE clock SET boot_id = ? WHERE id = 1"

  /// Microseconds since 1970. It never goes back.
  static let setSynchronised: SQL = """
    UPDATE clock SET synchronised_at = max(coalesce(synchronised_at, 0), ?) WHERE id = 1
    """
}

/// A process that may hold leases.
enum OwnerRow {
  /// Owner, boot, process, date.
  static let insert: SQL = """
    INSERT INTO owners (owner, boot_id, process, started_at) VALUES (?, ?, ?, ?)
    ON CONFLICT DO NOTHING
    """

  /// Owner.
  static let delete: SQL = "DELETE FROM owners WHERE owner = ?"

  /// Partition: its leases, by owner. Owner, boot, end, number.
  static let leases: SQL = """
    SELECT lease_owner, lease_boot_id, lease_end_monotonic, number FROM outbox
    WHERE state = 'leased' AND partition = ?
    ORDER BY lease_owner, lease_boot_id, lease_end_monotonic, number
    """

  /// Number, owner, token: whether the lease is still that one. Cancel requested.
  static let readLease: SQL = """
    SELECT is_cancel_requested FROM outbox
    WHERE number = ? AND state = 'leased' AND lease_owner = ? AND lease_token = ?
    """

  /// End, number.
  static let extend: SQL = "UPDATE outbox SET lease_end_monotonic = ? WHERE number = ?"
}
