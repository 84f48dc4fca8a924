import FoundationEssentials
import Query

/// Repairs what SQLite takes for sound, although no release has written it: rows that no reader
/// would find, so that they would never be sent, and numbers after which none can be assigned. It
/// runs when the outbox is opened.
///
/// The content of a row is checked when the row is read: see ``OutboxRow/isSound``.
struct OutboxRepair {
  let connection: SQLiteConnection
  let now: OutboxTime

  /// No release assigns a number beyond it: there must be room for as many again after it.
  static let highest: Int64 = 1 << 60

  init(_ connection: SQLiteConnection, _ now: OutboxTime) {
    (self.connection, self.now) = (connection, now)
  }

  /// Checks the tables, and writes if something has to be repaired.
  ///
  /// - Throws: `StorageError`.
  /// - Complexity: O(*n*) in the number of rows.
  func run() throws {
    let isWhole = try self.connection.read { try self.isWhole() }
    if isWhole { return }
    try self.connection.write {
      try self.mendAccounts()
      try self.mendNumbers()
      try self.connection.execute(Self.mendReasons)
      let derived = DerivedRows(connection: self.connection, now: self.now)
      try self.connection.execute(Self.deleteHeads)
      try derived.makeHeads(of: try self.numbers(Self.allNumbers))
      try derived.countRows(of: nil)
    }
  }

  /// A lane is found by the reason of a death: only the dead have one.
  private static let mendReasons: SQL = """
    UPDATE outbox SET dead_reason = CASE WHEN state = 'dead' THEN 'rejected' END
    WHERE (state = 'dead') <> (dead_reason IS NOT NULL)
    """

  private static let deleteHeads: SQL = "DELETE FROM lane_heads"
  private static let allNumbers: SQL = "SELECT number FROM outbox NOT INDEXED ORDER BY number"

  private func numbers<each Value: SQLiteBindable>(
    _ sql: SQL, _ values: repeat each Value
  ) throws -> [Int64] {
    try self.connection.rows(sql, repeat each values) { try $0.integer(at: 0) }
  }
}

// MARK: - Looking

extension OutboxRepair {
  /// The highest number.
  private static let hasImpossibleNumber: SQL = """
    SELECT EXISTS (SELECT 1 FROM outbox WHERE number > ?1)
      OR EXISTS (SELECT 1 FROM outbox WHERE number < 1)
      OR EXISTS (SELECT 1 FROM history WHERE sequence > ?1)
      OR EXISTS (SELECT 1 FROM history WHERE sequence < 1)
      OR EXISTS (SELECT 1 FROM partitions
        WHERE last_number NOT BETWEEN 0 AND ?1 OR last_sequence NOT BETWEEN 0 AND ?1)
      OR EXISTS (SELECT 1 FROM outbox WHERE partition NOT IN (SELECT id FROM partitions))
    """

  /// Whether a head differs from its row.
  private static let hasWrongHead: SQL = """
    SELECT EXISTS (SELECT 1 FROM lane_heads AS h LEFT JOIN outbox AS o ON o.number = h.number
      WHERE o.number IS NULL OR (o.lane IS NULL AND o.state <> 'pending') OR h.partition <> o.partition OR h.lane IS NOT o.lane
        OR h.name <> o.name OR h.instance <> o.instance OR h.version <> o.version
        OR h.host <> coalesce(o.host, 'name:' || o.name)
        OR h.state NOT IN
          ('ready', 'leased', 'dependency', 'authentication', 'handler', 'halted', 'paused')
        OR h.priority <> max(min(o.priority, 1), -1)
        OR (h.state IN ('paused', 'ready') AND (h.state = 'paused') <> EXISTS (
          SELECT 1 FROM pauses AS p
          WHERE p.partition = h.partition AND p.part = 'lane' AND p.value = h.lane))
        OR (h.state = 'leased') <> (o.state = 'leased') OR (h.state = 'halted') <> (o.state = 'dead')
        OR (h.state = 'authentication' AND o.wait_reason IS NOT 'authentication')
        OR (h.state = 'handler' AND o.wait_reason IS NOT 'handler')
        OR h.due_boottime < 0 OR (h.state = 'ready' AND h.is_repeat <> (o.attempts > 0))
        OR (h.due_boottime > max(coalesce(o.due_boottime, 0), 1)
          AND (o.due_boottime IS NULL OR o.due_boot_id IS (SELECT boot_id FROM clock))))
    """

  /// Whether a lane, or a row without one, has no head. Erased rows need none. Or whether a lane does not have a
  /// live row, or has one that is dead, since their reasons say otherwise.
  private static let hasNoHead: SQL = """
    SELECT EXISTS (SELECT 1 FROM outbox AS o NOT INDEXED
      WHERE o.lane IS NULL AND o.state = 'pending'
        AND o.partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
        AND NOT EXISTS (SELECT 1 FROM lane_heads AS h WHERE h.number = o.number))
    OR EXISTS (SELECT 1 FROM outbox AS o NOT INDEXED
      WHERE o.lane IS NOT NULL AND (o.state <> 'dead' OR o.on_failure = 'halt')
        AND o.partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
        AND (o.state <> 'dead' AND o.dead_reason IS NOT NULL
          OR NOT EXISTS (SELECT 1 FROM lane_heads AS h
            WHERE h.partition = o.partition AND h.lane = o.lane
              AND (h.number <= o.number OR h.state = 'leased'))))
    OR EXISTS (SELECT 1 FROM outbox INDEXED BY outbox_dead
      WHERE state = 'dead' AND dead_reason IS NULL)
    """

  private func isWhole() throws -> Bool {
    func isTrue<each Value: SQLiteBindable>(
      _ sql: SQL, _ values: repeat each Value
    ) throws -> Bool {
      try self.connection.first(sql, repeat each values) { try $0.bool(at: 0) } ?? false
    }
    if try isTrue(Self.hasImpossibleNumber, Self.highest) { return false }
    if try isTrue(Self.hasWrongHead) { return false }
    return try !isTrue(Self.hasNoHead)
  }
}

// MARK: - Numbers

extension OutboxRepair {
  private static let impossible: SQL = """
    SELECT number FROM outbox WHERE number > ?1 UNION SELECT number FROM outbox WHERE number < 1
    ORDER BY 1
    """
  private static let impossibleSequences: SQL = """
    SELECT sequence FROM history WHERE sequence > ?1
    UNION SELECT sequence FROM history WHERE sequence < 1 ORDER BY 1
    """
  private static let newest: SQL = """
    SELECT max(
      coalesce((SELECT max(number) FROM outbox WHERE number <= ?1), 0),
      coalesce((SELECT max(number) FROM history WHERE number <= ?1), 0),
      coalesce((SELECT max(newest_number) FROM aliases WHERE newest_number <= ?1), 0),
      coalesce((SELECT max(last_number) FROM partitions WHERE last_number <= ?1), 0))
    """
  private static let newestSequence: SQL = """
    SELECT max(coalesce((SELECT max(sequence) FROM history WHERE sequence <= ?1), 0),
      coalesce((SELECT max(last_sequence) FROM partitions WHERE last_sequence <= ?1), 0))
    """
  private static let checksum: SQL = "SELECT checksum FROM outbox WHERE number = ?"
  private static let renumber: SQL = """
    UPDATE outbox SET number = ?, checksum = ? WHERE number = ?
    """
  private static let renumberDependant: SQL = """
    UPDATE OR IGNORE dependencies SET dependant = ? WHERE dependant = ?
    """
  private static let renumberTarget: SQL = """
    UPDATE OR IGNORE dependencies SET target = ? WHERE target = ?
    """
  private static let renumberSequence: SQL = "UPDATE history SET sequence = ? WHERE sequence = ?"
  private static let setNewest: SQL = "UPDATE partitions SET last_number = ?, last_sequence = ?"

  /// Gives rows with impossible numbers the next ones: their place in the order is unknown. A row
  /// that was enqueued under its number is as sound as it was; the others are dead once they are
  /// claimed.
  private func mendNumbers() throws {
    var newest = try self.numbers(Self.newest, Self.highest).first ?? 0
    for number in try self.numbers(Self.impossible, Self.highest) {
      newest += 1
      // Even that of a row that cannot be read otherwise.
      let checksum = try? self.connection.first(Self.checksum, number) { try $0.hash(at: 0) }
      try self.connection.execute(
        Self.renumber, newest,
        (checksum ?? XXH128(high: 0, low: 0)).adding(newest &- number, as: .row), number)
      for sql in [Self.renumberDependant, Self.renumberTarget] {
        try self.connection.execute(sql, newest, number)
      }
    }
    var sequence = try self.numbers(Self.newestSequence, Self.highest).first ?? 0
    for number in try self.numbers(Self.impossibleSequences, Self.highest) {
      sequence += 1
      try self.connection.execute(Self.renumberSequence, sequence, number)
    }
    try self.connection.execute(Self.setNewest, newest, sequence)
  }
}

// MARK: - Accounts

extension OutboxRepair {
  private static let accounts: SQL = "SELECT id FROM partitions ORDER BY id"
  private static let strangers: SQL = """
    SELECT number FROM outbox WHERE partition NOT IN (SELECT id FROM partitions) ORDER BY number
    """
  private static let setAccountID: SQL = "UPDATE partitions SET id = ? WHERE id = ?"
  private static let setAccount: SQL = """
    UPDATE outbox SET partition = ?, checksum = ? WHERE number = ?
    """

  /// Gives rows back to their accounts, which their checksums cover.
  private func mendAccounts() throws {
    let accounts = try self.numbers(Self.accounts)
    let rows = try self.numbers(Self.strangers).compactMap { number in
      try self.connection.first(OutboxRow.read, number, read: OutboxRow.init)
    }
    // If rows are sound, and their account has another number, then that number is wrong.
    let missing = Set(rows.filter(\.isSound).map(\.partition))
    let impossible = accounts.filter { !(1...Self.highest).contains($0) }
    if missing.count == 1, impossible.count == 1, let id = missing.first {
      try self.connection.execute(Self.setAccountID, id, impossible[0])
    }
    let known = try self.numbers(Self.accounts)
    for row in rows where !known.contains(row.partition) {
      var found = row
      if let account = known.first(where: { row.isSound(in: $0) }) {
        found.partition = account
      } else {
        found.move(to: try self.lostAccount(row.partition))
      }
      try self.connection.execute(
        Self.setAccount, found.partition, found.checksum, found.number)
    }
  }

  /// An account for rows whose own account is unknown, so that a person sees them.
  private func lostAccount(_ number: Int64) throws -> Int64 {
    let name = "lost account \(number)"
    try self.connection.execute(OutboxPartitionRow.insert, name)
    return try OutboxPartitionRow.find(name, on: self.connection)?.id ?? number
  }
}

extension OutboxRow {
  /// Whether the row would be as it was enqueued if it belonged to an account.
  fileprivate func isSound(in partition: Int64) -> Bool {
    var row = self
    row.partition = partition
    return row.isSound
  }
}
