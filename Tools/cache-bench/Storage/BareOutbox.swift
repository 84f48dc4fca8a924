import Foundation
import Query

/// The outbox as a plain C program would use it: prepared statements on a file that a storage has made, in
/// commits that are synced. It writes a row for each attempt when that begins, and removes one row of the
/// history for each that comes; the library tells most attempts by other rows, and removes several.
// @unchecked: the rounds of a row run one after another.
final class BareOutbox: PlainOutbox, @unchecked Sendable {
  private let connection: BareConnection
  private let statements: [Step: BareStatement]
  /// The row that is leased again and again.
  private var row: QueuedNote?

  private enum Step: String, CaseIterable {
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
    let connection = try BareConnection(path: path, .full, pragmas: ["foreign_keys = 0"])
    self.connection = connection
    self.statements = try connection.prepare(Step.self)
  }

  func enqueueAndSettle(_ notes: [Note], _ coder: JSONQueryCoder) throws {
    let arguments = try notes.map(coder.encode)
    let queued = try self.connection.transaction {
      try arguments.map { arguments in
        let queued = try self.enqueue(arguments)
        try self.run(.countEnqueued)
        return queued
      }
    }
    try self.settle(zip(queued, notes).map { ($0, $1) }, coder)
  }

  func queue(_ notes: [Note], _ coder: JSONQueryCoder) throws -> [QueuedNote] {
    try self.connection.transaction {
      try notes.map { note in
        let queued = try self.enqueue(try coder.encode(note))
        try self.run(.giveBack, number: queued.number)
        try self.run(.giveHeadBack, number: queued.number)
        return queued
      }
    }
  }

  func leaseAndSettle(_ queued: QueuedNote, _ coder: JSONQueryCoder) throws {
    try self.connection.transaction {
      try self.run(.lease, queued.id, number: queued.number, arguments: Data([0]))
      try self.run(.leaseHead, number: queued.number)
      try self.run(.countEnqueued)
    }
    try self.settle([(queued, try coder.decode(Note.self, from: queued.arguments))], coder)
  }

  func newest(_ count: Int) throws -> [Data] {
    guard let statement = self.statements[.newest] else { return [] }
    statement.bind(Int64(count), at: 1)
    return try statement.all()
  }

  private func settle(_ notes: [(QueuedNote, Note)], _ coder: JSONQueryCoder) throws {
    let results = try notes.map { try coder.encode($0.1.number) }
    try self.connection.transaction {
      for ((queued, _), result) in zip(notes, results) {
        try self.run(
          .history, queued.id, number: queued.number, arguments: queued.arguments, result: result)
        // As bounded as the history of the storage.
        let sequence = self.connection.lastInsertedID
        try self.run(.pruneAttempts, number: sequence)
        try self.run(.prune, number: sequence)
        try self.run(.endAttempt, queued.id)
        try self.run(.removeHead, number: queued.number)
        try self.run(.remove, number: queued.number)
        try self.run(.countEnded)
      }
    }
  }

  func lease() throws -> Reading {
    let row = try self.row ?? self.connection.transaction { try self.enqueue(Data([0])) }
    self.row = row
    let gauge = Gauge()
    try self.connection.transaction {
      try self.run(.lease, row.id, number: row.number, arguments: Data([0]))
      try self.run(.leaseHead, number: row.number)
      try self.run(.leaseAttempt, row.id, number: row.number, arguments: Data([0]))
      try self.run(.countEnqueued)
    }
    let reading = gauge.reading()
    try self.connection.transaction {
      try self.run(.giveBack, number: row.number)
      try self.run(.giveHeadBack, number: row.number)
    }
    return reading
  }

  private func enqueue(_ arguments: Data) throws -> QueuedNote {
    let id = (0..<16).map { _ in UInt8.random(in: 0...255) }
    try self.run(.enqueue, id, arguments: arguments)
    let number = self.connection.lastInsertedID
    try self.run(.head, number: number)
    try self.run(.attempt, id)
    return QueuedNote(id: id, number: number, arguments: arguments)
  }

  private func run(
    _ step: Step,
    _ id: [UInt8] = [],
    number: Int64? = nil,
    arguments: Data? = nil,
    result: Data? = nil
  ) throws {
    guard let statement = self.statements[step] else { return }
    if id.isEmpty, let number {
      statement.bind(number, at: 1)
    } else if statement.parameterCount > 0 {
      statement.bind(id, at: 1)
      statement.bind(Self.text, at: 2)
      statement.bind(1_800_000_000_000_000, at: 3)
    }
    if let arguments {
      statement.bind(arguments, at: 4)
      if let number { statement.bind(number, at: 5) }
    }
    if let result { statement.bind(result, at: 6) }
    try statement.run()
  }

  /// As long as a key, and the name of an owner.
  private static let text = "0b5f2b2c-54a1-4b7e-9f5c-0e0c0f6f1d11"
}
