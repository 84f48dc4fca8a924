import FoundationEssentials
import Query

/// One attempt of a mutation. The table has those that did not succeed. A running one is recorded
/// in the row of the outbox, and a successful one in that of the history.
package enum AttemptRow {
  /// How many are kept of each mutation.
  static let maximum = 20

  /// Mutation, number, owner, start and end dates, class, code, error's type and text, response.
  static let insert: SQL = """
    INSERT INTO attempts
      (mutation, number, owner, started_at, ended_at, class, code, error_type, error_text,
      response)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// The same, replacing one of that number.
  static let write: SQL = """
    INSERT OR REPLACE INTO attempts
      (mutation, number, owner, started_at, ended_at, class, code, error_type, error_text,
      response)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// Mutation, number, owner, start and end dates, class, code, error's type and text, and what was
  /// replaced after it: copied from another database unless it exists.
  static let salvage: SQL = """
    INSERT INTO attempts
      (mutation, number, owner, started_at, ended_at, class, code, error_type, error_text,
      idempotency_key, arguments, response)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """

  /// Mutation, lowest number that is kept.
  static let prune: SQL = "DELETE FROM attempts WHERE mutation = ? AND number < ?"

  /// Key, arguments, mutation, number: what was replaced. What was replaced earlier is kept.
  static let replace: SQL = """
    UPDATE attempts SET idempotency_key = coalesce(idempotency_key, ?),
      arguments = coalesce(arguments, ?)
    WHERE mutation = ? AND number = ?
    """

  /// Mutation.
  static let delete: SQL = "DELETE FROM attempts WHERE mutation = ?"

  /// Mutation: the oldest first. Mutation, number, owner, start and end dates, class, code, error's
  /// type and text, and what was replaced after it.
  package static let read: SQL = """
    SELECT mutation, number, owner, started_at, ended_at, class, code, error_type, error_text,
      idempotency_key, arguments, response
    FROM attempts WHERE mutation = ?1
    UNION ALL
    SELECT id, attempts, coalesce(lease_owner, ''), coalesce(attempt_started_at, created_at), NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM outbox WHERE id = ?1 AND state = 'leased'
    UNION ALL
    SELECT id, attempts, '', started_at, ended_at, outcome, NULL, error_type, error_text, NULL, NULL,
      NULL
    FROM history
    WHERE id = ?1 AND outcome = 'succeeded' AND started_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM attempts WHERE mutation = ?1 AND number = history.attempts)
    ORDER BY 2
    """

  /// Mutation, number: when it began.
  static let readStart: SQL = """
    SELECT started_at FROM attempts WHERE mutation = ? AND number = ?
    """

  static func attempt(_ row: SQLiteStatement) throws -> OutboxAttempt {
    OutboxAttempt(
      number: Int(try row.integer(at: 1)),
      startedAt: Date(microsecondsSince1970: try row.integer(at: 3)),
      endedAt: try row.optionalInteger(at: 4).map { Date(microsecondsSince1970: $0) },
      outcome: try row.optionalText(at: 5), code: try row.optionalInteger(at: 6).map { Int($0) },
      error: try row.optionalError(at: 7), replacedKey: try row.optionalText(at: 9),
      replacedArguments: try row.optionalData(at: 10), response: try row.optionalData(at: 11))
  }
}
