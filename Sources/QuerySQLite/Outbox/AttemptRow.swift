import Foundation
import Query

/// One attempt of a mutation.
enum AttemptRow {
  /// How many of each mutation are kept.
  static let maximum = 20

  /// Mutation, number, owner, date.
  static let insert: SQL = """
    INSERT INTO attempts (mutation, number, owner, started_at) VALUES (?, ?, ?, ?)
    """

  /// The same, in the place of one of that number.
  static let write: SQL = """
    INSERT OR REPLACE INTO attempts (mutation, number, owner, started_at) VALUES (?, ?, ?, ?)
    """

  /// Mutation, lowest number that stays.
  static let prune: SQL = "DELETE FROM attempts WHERE mutation = ? AND number < ?"

  /// Date, class, code, error's type and text, mutation, number.
  static let end: SQL = """
    UPDATE attempts SET ended_at = ?, class = ?, code = ?, error_type = ?, error_text = ?
    WHERE mutation = ? AND number = ?
    """

  /// Key, arguments, mutation, number: what was replaced. What was replaced before stays.
  static let replace: SQL = """
    UPDATE attempts SET idempotency_key = coalesce(idempotency_key, ?),
      arguments = coalesce(arguments, ?)
    WHERE mutation = ? AND number = ?
    """

  /// Mutation.
  static let delete: SQL = "DELETE FROM attempts WHERE mutation = ?"

  /// Mutation: the oldest first.
  static let read: SQL = """
    SELECT number, started_at, ended_at, class, code, error_type, error_text, idempotency_key,
      arguments
    FROM attempts WHERE mutation = ? ORDER BY number
    """

  /// Mutation, number: when it began.
  static let readStart: SQL = """
    SELECT started_at FROM attempts WHERE mutation = ? AND number = ?
    """

  static func attempt(_ row: SQLiteStatement) throws -> OutboxAttempt {
    OutboxAttempt(
      number: Int(try row.integer(at: 0)),
      startedAt: Date(microsecondsSince1970: try row.integer(at: 1)),
      endedAt: try row.optionalInteger(at: 2).map { Date(microsecondsSince1970: $0) },
      outcome: try row.optionalText(at: 3), code: try row.optionalInteger(at: 4).map { Int($0) },
      error: try row.optionalError(at: 5), replacedKey: try row.optionalText(at: 7),
      replacedArguments: try row.optionalData(at: 8))
  }
}
