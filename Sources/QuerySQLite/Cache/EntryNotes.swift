import FoundationEssentials
import Query

/// What is stored beside a value that says nothing of it: the last error, an invalidation, and how much of
/// the outbox's history the entry has.
struct EntryNotes: Equatable {
  var errorUpdatedAt: Int64?
  var errorUpdateCount: Int64
  var errorType: String?
  var errorText: String?
  var lastInvalidation: LastInvalidation
  var outboxSequence: Int64?
  var includedKeys: String?

  /// Reads those of a row of ``EntryRow/readStamp``.
  ///
  /// - Throws: `StorageError` (mismatch, corrupt) if the file is damaged.
  init(_ row: SQLiteStatement) throws {
    self.errorUpdatedAt = try row.optionalInteger(at: 10)
    self.errorUpdateCount = try row.amount(at: 11)
    self.lastInvalidation = try row.lastInvalidation(at: 12)
    self.errorType = try row.optionalText(at: 15)
    self.errorText = try row.optionalText(at: 16)
    self.outboxSequence = try row.optionalInteger(at: 21)
    self.includedKeys = try row.optionalText(at: 22)
  }

  var errorBytes: Int64 {
    Int64((self.errorType?.utf8.count ?? 0) + (self.errorText?.utf8.count ?? 0))
  }

  /// Writes them to a row.
  ///
  /// - Throws: `StorageError`.
  func write(
    to id: Int64, byteCount: Int64, _ revision: Int64, _ totals: CacheChanges.Totals,
    _ connection: SQLiteConnection
  ) throws(StorageError) {
    try connection.execute(
      EntryRow.note, revision, totals.entries, totals.bytes, self.errorUpdatedAt,
      self.errorUpdateCount, self.lastInvalidation.microseconds, byteCount, self.errorType,
      self.errorText, self.outboxSequence, self.includedKeys, id)
  }
}

extension EntryRow {
  /// What says nothing of the value, then id.
  static let note: SQL = """
    UPDATE entries SET revision = ?, total_entries = ?, total_bytes = ?, error_updated_at = ?,
      error_update_count = ?, invalidated_at = ?, byte_count = ?, error_type = ?, error_text = ?,
      outbox_sequence = ?, included_keys = ? WHERE id = ?
    """
}
