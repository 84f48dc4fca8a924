import Foundation
import Query

/// What `cache.sqlite` holds of one query. Dates are microseconds since 1970.
struct EntryRow: Equatable {
  /// The row's number; 0 before it is inserted.
  var id: Int64 = 0
  var partition: Int64
  var hash: XXH128
  var identity: String
  /// The number of the partition's counter that the last write of this row was given.
  var revision: Int64
  var kind: String
  var coder: String
  var valueVersion: Int64
  var valueUpdatedAt: Int64?
  var valueUpdateCount: Int64 = 0
  var errorUpdatedAt: Int64?
  var errorUpdateCount: Int64 = 0
  var errorType: String?
  var errorText: String?
  var isInvalidated = false
  var isPinned = false
  var expiresAt: Int64?
  /// The number that the last use was given; nil: it was not used since it was inserted.
  var lastUse: Int64?
  /// Of the identity's text, the error, the value and the pages.
  var byteCount: Int64
  /// Over the value, or what ``XXH128/init(pages:next:previous:)`` says.
  var checksum: XXH128?
  var nextPageID: Data?
  var previousPageID: Data?
  var value: Data?
}

// MARK: - Reading

extension EntryRow {
  /// Partition, hash: the whole row.
  static let read: SQL = """
    SELECT id, partition, hash, revision, kind, coder, value_version, value_updated_at,
      value_update_count, error_updated_at, error_update_count, is_invalidated, is_pinned,
      expires_at, last_use, byte_count, checksum, identity, error_type, error_text, next_page_id,
      previous_page_id, value
    FROM entries WHERE partition = ? AND hash = ?
    """

  /// Partition, hash: what a write compares with, as ``read``, but in the value's place whether
  /// there is one in this row.
  static let readStamp: SQL = """
    SELECT id, partition, hash, revision, kind, coder, value_version, value_updated_at,
      value_update_count, error_updated_at, error_update_count, is_invalidated, is_pinned,
      expires_at, last_use, byte_count, checksum, identity, error_type, error_text, next_page_id,
      previous_page_id, value IS NOT NULL
    FROM entries WHERE partition = ? AND hash = ?
    """

  /// Partition, revision: identities of what was written after it. Identity, revision.
  static let readChanged: SQL = """
    SELECT identity, revision FROM entries WHERE partition = ? AND revision > ? ORDER BY revision
    """

  /// Reads a row of ``read``.
  init(_ row: SQLiteStatement) throws(StorageError) {
    try self.init(withoutValue: row)
    self.value = try row.optionalData(at: 22)
  }

  /// Reads a row of ``readStamp``.
  init(withoutValue row: SQLiteStatement) throws(StorageError) {
    self.id = try row.integer(at: 0)
    self.partition = try row.integer(at: 1)
    self.hash = try row.hash(at: 2)
    self.revision = try row.amount(at: 3)
    self.kind = try row.text(at: 4)
    self.coder = try row.text(at: 5)
    self.valueVersion = try row.integer(at: 6)
    self.valueUpdatedAt = try row.optionalInteger(at: 7)
    self.valueUpdateCount = try row.amount(at: 8)
    self.errorUpdatedAt = try row.optionalInteger(at: 9)
    self.errorUpdateCount = try row.amount(at: 10)
    self.isInvalidated = try row.bool(at: 11)
    self.isPinned = try row.bool(at: 12)
    self.expiresAt = try row.optionalInteger(at: 13)
    self.lastUse = try row.optionalInteger(at: 14)
    self.byteCount = try row.amount(at: 15)
    self.checksum = row.isNull(at: 16) ? nil : try row.hash(at: 16)
    self.identity = try row.text(at: 17)
    self.errorType = try row.optionalText(at: 18)
    self.errorText = try row.optionalText(at: 19)
    self.nextPageID = try row.optionalData(at: 20)
    self.previousPageID = try row.optionalData(at: 21)
  }
}

// MARK: - Writing

extension EntryRow {
  /// All columns. `last_use` of a row that is there stays, so that a changed value costs no frame of
  /// its index.
  private static let upsert: SQL = """
    INSERT INTO entries (partition, hash, revision, kind, coder, value_version, value_updated_at,
      value_update_count, error_updated_at, error_update_count, is_invalidated, is_pinned,
      expires_at, last_use, byte_count, checksum, identity, error_type, error_text, next_page_id,
      previous_page_id, value)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (partition, hash) DO UPDATE SET revision = excluded.revision,
      kind = excluded.kind, coder = excluded.coder, value_version = excluded.value_version,
      value_updated_at = excluded.value_updated_at,
      value_update_count = excluded.value_update_count,
      error_updated_at = excluded.error_updated_at,
      error_update_count = excluded.error_update_count,
      is_invalidated = excluded.is_invalidated, is_pinned = excluded.is_pinned,
      expires_at = excluded.expires_at, byte_count = excluded.byte_count,
      checksum = excluded.checksum, identity = excluded.identity,
      error_type = excluded.error_type, error_text = excluded.error_text,
      next_page_id = excluded.next_page_id, previous_page_id = excluded.previous_page_id,
      value = excluded.value
    """

  /// All but the value, then id: where the value's bytes are those that are stored.
  private static let updateState: SQL = """
    UPDATE entries SET revision = ?, value_updated_at = ?, value_update_count = ?,
      error_updated_at = ?, error_update_count = ?, is_invalidated = ?, is_pinned = ?,
      expires_at = ?, byte_count = ?, error_type = ?, error_text = ?, next_page_id = ?,
      previous_page_id = ? WHERE id = ?
    """

  /// Last use, partition, hash.
  static let updateUse: SQL = "UPDATE entries SET last_use = ? WHERE partition = ? AND hash = ?"

  /// Id. Its pages go with it.
  static let delete: SQL = "DELETE FROM entries WHERE id = ?"

  /// Writes the whole row, new or not. The partition's counts are written apart.
  ///
  /// - Throws: `StorageError`.
  func write(to connection: SQLiteConnection) throws(StorageError) {
    try connection.execute(
      Self.upsert, self.partition, self.hash, self.revision, self.kind, self.coder,
      self.valueVersion, self.valueUpdatedAt, self.valueUpdateCount, self.errorUpdatedAt,
      self.errorUpdateCount, self.isInvalidated, self.isPinned, self.expiresAt, self.lastUse,
      self.byteCount, self.checksum, self.identity, self.errorType, self.errorText,
      self.nextPageID, self.previousPageID, self.value)
  }

  /// Writes what is beside the value into the row with this ``id``.
  ///
  /// - Throws: `StorageError`.
  func writeState(to connection: SQLiteConnection) throws(StorageError) {
    try connection.execute(
      Self.updateState, self.revision, self.valueUpdatedAt, self.valueUpdateCount,
      self.errorUpdatedAt, self.errorUpdateCount, self.isInvalidated, self.isPinned,
      self.expiresAt, self.byteCount, self.errorType, self.errorText, self.nextPageID,
      self.previousPageID, self.id)
  }
}
