package import Query

/// The row of an account in `mutations.sqlite`.
package struct OutboxPartitionRow: Equatable {
  package var id: Int64
  /// Incremented by `erase()`: a settle with an older one is dropped.
  var epoch: Int64
  var isErasing: Bool
  /// Incremented by each transaction that changes the outbox.
  package var revision: Int64
  /// Incremented when lanes that wait for credentials are released.
  var credentialsEpoch: Int64
  package var pausedAt: Int64?
  package var counts: OutboxCounts
  package var historyCount: Int64
  package var historyBytes: Int64
  /// How many hosts are not well.
  var illHosts: Int
  /// The newest number and sequence that a row of the account was given.
  var lastNumber: Int64
  var lastSequence: Int64
  /// How many pauses it has of lanes, names and hosts.
  package var pauseCount: Int
  /// How often in a row more urgent rows went first.
  var turns: ClaimTurns
  /// Whether the row has the account's name. `erase()` takes it away until something is written
  /// again: see ``ErasedName``.
  package var isNamed = true
}

// MARK: - Finding

extension OutboxPartitionRow {
  /// Reads the row of an account. Impossible totals, in a damaged file, are counted anew.
  ///
  /// - Returns: nil if the account has none.
  /// - Throws: `StorageError`.
  package static func find(_ name: String, on connection: SQLiteConnection) throws
    -> OutboxPartitionRow?
  {
    var found = try connection.first(Self.read, name) { try OutboxPartitionRow($0) }
    if found == nil {
      found = try connection.first(Self.read, ErasedName(of: name).text) {
        try OutboxPartitionRow($0)
      }
      found?.isNamed = false
    }
    guard var row = found else { return nil }
    if !row.arePossible { try row.count(on: connection) }
    return row
  }

  private var arePossible: Bool {
    let totals = [
      Int64(self.counts.pending), Int64(self.counts.leased), Int64(self.counts.dead),
      self.historyCount, self.historyBytes,
    ]
    return totals.allSatisfy { (0...(1 << 60)).contains($0) }
  }

  /// Id.
  private static let totals: SQL = """
    SELECT (SELECT count(*) FROM outbox WHERE partition = ?1 AND state = 'pending'),
      (SELECT count(*) FROM outbox WHERE partition = ?1 AND state = 'leased'),
      (SELECT count(*) FROM outbox WHERE partition = ?1 AND state = 'dead'),
      (SELECT count(*) FROM history WHERE partition = ?1),
      (SELECT coalesce(sum(min(max(byte_count, 0), 1099511627776)), 0) FROM history
        WHERE partition = ?1)
    """

  private mutating func count(on connection: SQLiteConnection) throws {
    let counted = try connection.first(Self.totals, self.id) { row in
      (
        OutboxCounts(
          pending: Int(try row.integer(at: 0)), leased: Int(try row.integer(at: 1)),
          dead: Int(try row.integer(at: 2))), try row.integer(at: 3), try row.integer(at: 4)
      )
    }
    if let counted { (self.counts, self.historyCount, self.historyBytes) = counted }
  }
}

// MARK: - SQL

extension OutboxPartitionRow {
  /// Name.
  package static let insert: SQL = "INSERT INTO partitions (name) VALUES (?) ON CONFLICT DO NOTHING"

  /// Name.
  package static let read: SQL = """
    SELECT id, epoch, is_erasing, revision, credentials_epoch, paused_at, pending_count,
      leased_count, dead_count, history_count, history_bytes, last_number, last_sequence,
      ill_hosts, pause_count, overtakings
    FROM partitions WHERE name = ?
    """

  /// All but the name, the id last.
  static let update: SQL = """
    UPDATE partitions SET epoch = ?, is_erasing = ?, revision = ?, credentials_epoch = ?,
      paused_at = ?, pending_count = ?, leased_count = ?, dead_count = ?, history_count = ?,
      history_bytes = ?, last_number = ?, last_sequence = ?, ill_hosts = ?,
      pause_count = ?, overtakings = ?
    WHERE id = ?
    """

  /// Name, id.
  private static let rename: SQL = "UPDATE partitions SET name = ? WHERE id = ?"

  /// Name, id: the newest number and sequence of another row that was erased under the name.
  private static let numbersOfOther: SQL = """
    SELECT last_number, last_sequence FROM partitions WHERE name = ? AND id <> ?
    """

  /// Name, id: another row that was erased under the name.
  private static let deleteOther: SQL = "DELETE FROM partitions WHERE name = ? AND id <> ?"

  package init(_ row: SQLiteStatement) throws {
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
    self.lastNumber = try row.integer(at: 11)
    self.lastSequence = try row.integer(at: 12)
    self.illHosts = Int(try row.integer(at: 13))
    self.pauseCount = Int(try row.integer(at: 14))
    self.turns = ClaimTurns(stored: try row.integer(at: 15))
  }

  /// Writes the name of its account, or the hash that stands for it.
  ///
  /// - Throws: `StorageError`.
  package mutating func saveName(_ name: String, on connection: SQLiteConnection) throws {
    let text = self.isNamed ? name : ErasedName(of: name).text
    let other = try connection.first(Self.numbersOfOther, text, self.id) {
      (number: try $0.integer(at: 0), sequence: try $0.integer(at: 1))
    }
    if let other {
      self.lastNumber = max(self.lastNumber, other.number)
      self.lastSequence = max(self.lastSequence, other.sequence)
    }
    try connection.execute(Self.deleteOther, text, self.id)
    try connection.execute(Self.rename, text, self.id)
  }

  /// Writes all but the name.
  ///
  /// - Throws: `StorageError`.
  func save(on connection: SQLiteConnection) throws {
    try connection.execute(
      Self.update, self.epoch, self.isErasing, self.revision, self.credentialsEpoch,
      self.pausedAt, self.counts.pending, self.counts.leased, self.counts.dead,
      self.historyCount, self.historyBytes, self.lastNumber, self.lastSequence, self.illHosts,
      self.pauseCount, self.turns.stored, self.id)
  }
}

// MARK: - Numbers

extension OutboxPartitionRow {
  /// The newest number that any row was given: accounts share one sequence of them.
  private static let newestNumber: SQL = """
    SELECT max(coalesce((SELECT max(last_number) FROM partitions), 0),
      coalesce((SELECT max(number) FROM outbox), 0))
    """

  private static let newestSequence: SQL = """
    SELECT max(coalesce((SELECT max(last_sequence) FROM partitions), 0),
      coalesce((SELECT max(sequence) FROM history), 0))
    """

  /// The newest number that any row was given.
  ///
  /// - Throws: `StorageError`.
  package static func newestNumber(on connection: SQLiteConnection) throws -> Int64 {
    max(try connection.first(Self.newestNumber) { try $0.integer(at: 0) } ?? 0, 0)
  }

  /// The same in a transaction that has not written this row yet.
  ///
  /// - Throws: `StorageError`.
  func newestNumber(on connection: SQLiteConnection) throws -> Int64 {
    max(try Self.newestNumber(on: connection), self.lastNumber)
  }

  /// The newest sequence that any row was given, as of this transaction.
  ///
  /// - Throws: `StorageError`.
  func newestSequence(on connection: SQLiteConnection) throws -> Int64 {
    let found = try connection.first(Self.newestSequence) { try $0.integer(at: 0) } ?? 0
    return max(found, self.lastSequence, 0)
  }
}

extension OutboxTransaction {
  /// Takes the next number for a row of the outbox; 0 if none is left.
  ///
  /// - Throws: `StorageError`.
  mutating func takeNumber() throws -> Int64 {
    let newest =
      try self.memory.newestNumber ?? self.partition.newestNumber(on: self.connection)
    if newest == .max { return 0 }
    self.partition.lastNumber = newest + 1
    if !self.memory.isBesideOthers { self.memory.newestNumber = newest + 1 }
    return newest + 1
  }

  /// Takes the next sequence for a row of the history; nil if none is left.
  ///
  /// - Throws: `StorageError`.
  mutating func takeSequence() throws -> Int64? {
    let newest =
      try self.memory.newestSequence ?? self.partition.newestSequence(on: self.connection)
    if newest == .max { return nil }
    self.partition.lastSequence = newest + 1
    if !self.memory.isBesideOthers { self.memory.newestSequence = newest + 1 }
    return newest + 1
  }
}

/// The boot that the heads' times belong to, and the latest wall time that was known to be right.
package enum ClockRow {
  static let read: SQL = "SELECT boot_id, synchronised_at FROM clock WHERE id = 1"

  /// Boot.
  static let setBoot: SQL = "UPDATE clock SET boot_id = ? WHERE id = 1"

  /// Microseconds since 1970. It never goes back.
  package static let setSynchronised: SQL = """
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

  /// Partition: its leases. Owner, boot, end, number.
  static let leases: SQL = """
    SELECT lease_owner, lease_boot_id, lease_end_monotonic, number
    FROM outbox INDEXED BY outbox_leased
    WHERE state = 'leased' AND partition = ? ORDER BY number
    """

  /// Number, owner, token: whether the lease is still that one, and not erased. Cancel requested.
  static let readLease: SQL = """
    SELECT is_cancel_requested FROM outbox
    WHERE number = ? AND state = 'leased' AND lease_owner = ? AND lease_token = ?
      AND coalesce((SELECT is_erasing FROM partitions AS p WHERE p.id = partition), 0) <> 2
    """

  /// Owner: the numbers of those that it is asked to cancel.
  static let cancelled: SQL = """
    SELECT number FROM outbox INDEXED BY outbox_leased
    WHERE state = 'leased' AND lease_owner = ? AND is_cancel_requested <> 0
    """

  /// End, number.
  static let extend: SQL = "UPDATE outbox SET lease_end_monotonic = ? WHERE number = ?"
}
