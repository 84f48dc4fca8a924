import CSQLite
import Foundation
import Query

/// The outbox as a plain C program would use it: prepared statements on a file that a storage has made, in
/// commits that are synced. It writes a row for each attempt when that begins, and removes one row of the
/// history for each that comes; the library tells most attempts by other rows, and removes several.
// @unchecked: the rounds of a row run one after another.
final class BareOutbox: @unchecked Sendable {
  private let handle: OpaquePointer
  private let statements: [Step: OpaquePointer]
  /// The row that is leased again and again.
  private var row: (id: [UInt8], number: Int64)?

  private enum Step: String, CaseIterable {
    case begin = "BEGIN IMMEDIATE"
    case commit = "COMMIT"
    case enqueue = """
      INSERT INTO outbox (partition, id, idempotency_key, name, instance, version, on_failure,
        coalesce, created_at, age_at, age_boottime, age_boot_id, age_is_synchronised, state, has_waited,
        attempts, lease_owner, lease_token, lease_end_monotonic, lease_boot_id, coder, checksum, arguments)
      VALUES (1, ?1, ?2, 'save-note', '["save-note"]', 1, 'continue', 'none', ?3, ?3, ?3, ?2, 1,
        'leased', 0, 1, ?2, 1, ?3, ?2, 'json', ?1, ?4)
      """
    case newest = """
      SELECT arguments FROM outbox WHERE partition = 1 AND name = 'save-note'
        AND instance = '["save-note"]' ORDER BY number DESC LIMIT ?1
      """
    case head = """
      INSERT INTO lane_heads (number, partition, name, instance, version, host, state)
      VALUES (?1, 1, 'save-note', '["save-note"]', 1, 'name:save-note', 'leased')
      """
    case attempt =
      "INSERT INTO attempts (mutation, number, owner, started_at) VALUES (?1, 1, ?2, ?3)"
    case countEnqueued = """
      UPDATE partitions SET revision = revision + 1, leased_count = leased_count + 1 WHERE id = 1
      """
    case lease = """
      UPDATE outbox SET state = 'leased', attempts = attempts + 1, lease_owner = ?2,
        lease_token = lease_token + 1, lease_end_monotonic = ?3, lease_boot_id = ?2
      WHERE number = ?5 AND ?1 IS NOT NULL AND ?4 IS NOT NULL
      """
    case leaseHead = "UPDATE lane_heads SET state = 'leased' WHERE number = ?1"
    case leaseAttempt = """
      INSERT INTO attempts (mutation, number, owner, started_at)
      SELECT ?1, attempts, ?2, ?3 FROM outbox WHERE number = ?5 AND ?4 IS NOT NULL
      """
    case giveBack = """
      UPDATE outbox SET state = 'pending', has_waited = 1, lease_owner = NULL,
        lease_end_monotonic = NULL, lease_boot_id = NULL WHERE number = ?1
      """
    case giveHeadBack = "UPDATE lane_heads SET state = 'ready' WHERE number = ?1"
    case history = """
      INSERT INTO history (partition, id, number, idempotency_key, name, instance, version, outcome,
        attempts, maybe_applied, created_at, started_at, ended_at, byte_count, coder, checksum,
        arguments, result)
      VALUES (1, ?1, ?5, ?2, 'save-note', '["save-note"]', 1, 'succeeded', 1, 0, ?3, ?3, ?3, 100,
        'json', ?1, ?4, ?6)
      """
    case endAttempt = "UPDATE attempts SET ended_at = ?3, class = 'succeeded' WHERE mutation = ?1"
    case removeHead = "DELETE FROM lane_heads WHERE number = ?1"
    case remove = "DELETE FROM outbox WHERE number = ?1"
    case pruneAttempts = """
      DELETE FROM attempts WHERE mutation = (SELECT id FROM history WHERE sequence = ?1 - 50)
      """
    case prune = "DELETE FROM history WHERE sequence = ?1 - 50"
    case countEnded = """
      UPDATE partitions SET revision = revision + 1, leased_count = leased_count - 1,
        history_count = history_count + 1, history_bytes = history_bytes + 100 WHERE id = 1
      """
  }

  /// Opens a file that a storage has made.
  init(path: String) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK, let handle else {
      throw CheckFailure(description: "no \(path)")
    }
    for pragma in ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = 0"] {
      sqlite3_exec(handle, "PRAGMA \(pragma)", nil, nil, nil)
    }
    var statements = [Step: OpaquePointer]()
    for step in Step.allCases {
      var statement: OpaquePointer?
      sqlite3_prepare_v2(handle, step.rawValue, -1, &statement, nil)
      guard let statement else {
        throw CheckFailure(description: String(cString: sqlite3_errmsg(handle)))
      }
      statements[step] = statement
    }
    (self.handle, self.statements) = (handle, statements)
  }

  deinit {
    for statement in self.statements.values { sqlite3_finalize(statement) }
    sqlite3_close(self.handle)
  }

  /// The least that a mutation costs: its arguments' bytes, a commit of those and of its owner, its
  /// result's bytes, and a commit that has moved it to the history, which keeps the newest 50.
  func enqueueAndSettle(_ note: Note, _ coder: JSONQueryCoder) throws {
    let arguments = try coder.encode(note)
    let id = (0..<16).map { _ in UInt8.random(in: 0...255) }
    try self.run(.begin)
    try self.run(.enqueue, id, arguments: arguments)
    let number = sqlite3_last_insert_rowid(self.handle)
    try self.run(.head, number: number)
    try self.run(.attempt, id)
    try self.run(.countEnqueued)
    try self.run(.commit)
    try self.settle(id, number, note, arguments, coder)
  }

  /// Lets so many mutations wait, as the library does before they are replayed.
  ///
  /// - Returns: Them, for ``leaseAndSettle(_:_:)``.
  func queue(_ notes: [Note], _ coder: JSONQueryCoder) throws -> [Queued] {
    var queued = [Queued]()
    try self.run(.begin)
    for note in notes {
      let arguments = try coder.encode(note)
      let (id, number) = try self.enqueue(arguments)
      try self.run(.giveBack, number: number)
      try self.run(.giveHeadBack, number: number)
      queued.append((id, number, arguments))
    }
    try self.run(.commit)
    return queued
  }

  /// A mutation that waits.
  typealias Queued = (id: [UInt8], number: Int64, arguments: Data)

  /// The least that a replayed mutation costs: a commit of its owner, the arguments decoded, and a
  /// commit that has moved it to the history.
  func leaseAndSettle(_ queued: Queued, _ coder: JSONQueryCoder) throws {
    let (id, number, arguments) = queued
    try self.run(.begin)
    try self.run(.lease, id, number: number, arguments: Data([0]))
    try self.run(.leaseHead, number: number)
    try self.run(.countEnqueued)
    try self.run(.commit)
    try self.settle(id, number, try coder.decode(Note.self, from: arguments), arguments, coder)
  }

  /// The arguments of the newest mutations that wait.
  func newest(_ count: Int) throws -> [Data] {
    guard let statement = self.statements[.newest] else { return [] }
    defer { sqlite3_reset(statement) }
    sqlite3_bind_int64(statement, 1, Int64(count))
    var all = [Data]()
    while sqlite3_step(statement) == SQLITE_ROW {
      let bytes = sqlite3_column_blob(statement, 0)
      all.append(Data(bytes: bytes!, count: Int(sqlite3_column_bytes(statement, 0))))
    }
    return all
  }

  private func settle(
    _ id: [UInt8], _ number: Int64, _ note: Note, _ arguments: Data, _ coder: JSONQueryCoder
  ) throws {
    try self.run(.begin)
    let result = try coder.encode(note.number)
    try self.run(.history, id, number: number, arguments: arguments, result: result)
    // As bounded as the history of the storage.
    let sequence = sqlite3_last_insert_rowid(self.handle)
    try self.run(.pruneAttempts, number: sequence)
    try self.run(.prune, number: sequence)
    try self.run(.endAttempt, id)
    try self.run(.removeHead, number: number)
    try self.run(.remove, number: number)
    try self.run(.countEnded)
    try self.run(.commit)
  }

  /// The least that a claim costs: a commit of the owner of a row that is already known.
  ///
  /// - Returns: The nanoseconds of that commit.
  func lease() throws -> Double {
    let row = try self.row ?? self.enqueue(Data([0]))
    self.row = row
    let watch = Stopwatch()
    try self.run(.begin)
    try self.run(.lease, row.id, number: row.number, arguments: Data([0]))
    try self.run(.leaseHead, number: row.number)
    try self.run(.leaseAttempt, row.id, number: row.number, arguments: Data([0]))
    try self.run(.countEnqueued)
    try self.run(.commit)
    let time = watch.nanoseconds()
    try self.run(.begin)
    try self.run(.giveBack, number: row.number)
    try self.run(.giveHeadBack, number: row.number)
    try self.run(.commit)
    return time
  }

  private func enqueue(_ arguments: Data) throws -> (id: [UInt8], number: Int64) {
    let id = (0..<16).map { _ in UInt8.random(in: 0...255) }
    try self.run(.enqueue, id, arguments: arguments)
    let number = sqlite3_last_insert_rowid(self.handle)
    try self.run(.head, number: number)
    try self.run(.attempt, id)
    return (id, number)
  }

  private func run(
    _ step: Step,
    _ id: [UInt8] = [],
    number: Int64? = nil,
    arguments: Data? = nil,
    result: Data? = nil
  ) throws {
    guard let statement = self.statements[step] else { return }
    let count = sqlite3_bind_parameter_count(statement)
    if id.isEmpty, let number {
      sqlite3_bind_int64(statement, 1, number)
    } else if count > 0 {
      _ = id.withUnsafeBytes { bytes in
        bytes.baseAddress.map { csqlite_bind_bytes(statement, 1, $0, UInt64(bytes.count)) }
      }
      csqlite_bind_text(statement, 2, Self.text, UInt64(Self.text.utf8.count))
      sqlite3_bind_int64(statement, 3, 1_800_000_000_000_000)
    }
    if let arguments {
      Self.bind(arguments, to: statement, at: 4)
      if let number { sqlite3_bind_int64(statement, 5, number) }
    }
    if let result { Self.bind(result, to: statement, at: 6) }
    let status = sqlite3_step(statement)
    sqlite3_reset(statement)
    guard [SQLITE_ROW, SQLITE_DONE].contains(status) else {
      throw CheckFailure(description: String(cString: sqlite3_errmsg(self.handle)))
    }
  }

  private static func bind(_ bytes: Data, to statement: OpaquePointer, at index: Int32) {
    _ = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { csqlite_bind_bytes(statement, index, $0, UInt64(bytes.count)) }
    }
  }

  /// As long as a key, and the name of an owner.
  private static let text = "0b5f2b2c-54a1-4b7e-9f5c-0e0c0f6f1d11"
}
