package import Foundation
package import Query

/// A mutation that has ended.
package struct HistoryRow {
  var id: UUID
  var number: Int64
  var idempotencyKey: String
  var name: String
  var instance: String
  var version: Int
  var lane: String?
  var outcome: RecordedMutation.Outcome
  var successor: UUID?
  var attempts: Int
  var maybeApplied: Bool
  var createdAt: Int64
  var startedAt: Int64?
  var endedAt: Int64
  var error: RestoredError?
  var effects: String?
  var coder: String
  var arguments: Data
  var result: Data?
  /// The stored checksum of a salvaged row: if it does not match, no caller is shown the row.
  var keptChecksum: XXH128?

  /// The row of a mutation that ends now.
  init(_ row: OutboxRow, _ outcome: RecordedMutation.Outcome, endedAt: Int64) {
    self.id = row.id
    self.number = row.number
    self.idempotencyKey = row.idempotencyKey
    self.name = row.name
    self.instance = row.instance
    self.version = row.version
    self.lane = row.lane
    self.outcome = outcome
    self.attempts = row.standing.attempts
    self.maybeApplied = row.standing.maybeApplied
    self.createdAt = row.createdAt
    self.endedAt = endedAt
    self.error = row.standing.lastError
    self.coder = row.coder
    self.arguments = row.arguments
  }

  /// The bytes that count against the limit.
  var byteCount: Int {
    let error = self.error.map { $0.typeName.utf8.count + $0.text.utf8.count } ?? 0
    return self.arguments.count + (self.result?.count ?? 0) + error
  }

  /// The checksum of the stored bytes, and of the mutation that they belong to.
  package static func checksum(id: UUID, number: Int64, arguments: Data, result: Data?) -> XXH128 {
    XXH128(hashing: "\(arguments.count) ", arguments, result ?? Data()).adding(id)
      .adding(number, as: .row)
  }
}

// MARK: - SQL

extension HistoryRow {
  private static let insert: SQL = """
    INSERT INTO history (partition, id, number, idempotency_key, name, instance, version, lane,
      outcome, successor, attempts, maybe_applied, created_at, started_at, ended_at, error_type,
      error_text, effects, byte_count, coder, checksum, arguments, result)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// Partition, id.
  static let readByID: SQL = """
    SELECT id, number, idempotency_key, version, outcome, successor, attempts, created_at, ended_at,
      error_type, error_text, coder, arguments, result, checksum
    FROM history WHERE partition = ? AND id = ?
    """

  /// Partition, name, instance: the oldest first.
  static let readByName: SQL = """
    SELECT id, number, idempotency_key, version, outcome, successor, attempts, created_at, ended_at,
      error_type, error_text, coder, arguments, result, checksum
    FROM history WHERE partition = ? AND name = ? AND instance = ? ORDER BY sequence
    """

  /// Partition, id.
  static let readOutcome: SQL = """
    SELECT outcome, successor FROM history WHERE partition = ? AND id = ?
    """

  /// Partition, lane, number: whether a later one has succeeded.
  static let hasSuccessBehind: SQL = """
    SELECT 1 FROM history WHERE partition = ? AND lane = ? AND number > ? AND outcome = 'succeeded'
    LIMIT 1
    """

  /// Partition: effects that the cache does not have yet. Sequence, effects.
  static let readEffects: SQL = """
    SELECT sequence, effects FROM history WHERE partition = ? AND effects IS NOT NULL
    ORDER BY sequence
    """

  /// Sequence.
  static let clearEffects: SQL = "UPDATE history SET effects = NULL WHERE sequence = ?"

  /// Inserts the row.
  ///
  /// - Throws: `StorageError`.
  func insert(partition: Int64, on connection: SQLiteConnection) throws {
    try connection.execute(
      Self.insert, partition, self.id, self.number, self.idempotencyKey, self.name,
      self.instance, self.version, self.lane, self.outcome.rawValue, self.successor,
      self.attempts, self.maybeApplied, self.createdAt, self.startedAt, self.endedAt,
      self.error?.typeName, self.error?.text, self.effects, self.byteCount, self.coder,
      self.keptChecksum
        ?? Self.checksum(
          id: self.id, number: self.number, arguments: self.arguments, result: self.result),
      self.arguments, self.result)
  }

  /// Reads a row of ``readByID`` or ``readByName``.
  ///
  /// - Returns: nil if its bytes are not those that were written: no caller is shown a false
  ///   result.
  package static func record(_ row: SQLiteStatement) throws -> RecordedMutation? {
    let outcome = try row.text(at: 4)
    let arguments = try row.data(at: 12)
    let result = try row.optionalData(at: 13)
    let (id, number) = (try row.uuid(at: 0), try row.integer(at: 1))
    let checksum = Self.checksum(id: id, number: number, arguments: arguments, result: result)
    guard try row.hash(at: 14) == checksum else { return nil }
    return RecordedMutation(
      id: id, number: Int(number),
      // A word of a later release: all that is known is that it has ended.
      state: .ended(RecordedMutation.Outcome(rawValue: outcome) ?? .discarded),
      idempotencyKey: try row.text(at: 2), version: Int(try row.integer(at: 3)),
      coder: try row.text(at: 11), arguments: arguments, result: result,
      error: try row.optionalError(at: 9), attempts: Int(try row.integer(at: 6)),
      createdAt: Date(microsecondsSince1970: try row.integer(at: 7)),
      updatedAt: Date(microsecondsSince1970: try row.integer(at: 8)),
      successor: row.isNull(at: 5) ? nil : try row.uuid(at: 5))
  }
}
