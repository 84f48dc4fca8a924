import Foundation
import Query
import StorageTestSupport

@testable import QuerySQLite

// Rows with all their columns, which the library reads by parts.

extension EntryRow {
  /// Partition, hash: the whole row.
  static let readWhole: SQL = """
    SELECT id, partition, hash, revision, kind, coder, value_version, value_updated_at,
      value_update_count, error_updated_at, error_update_count, invalidated_at, is_pinned,
      expires_at, last_use, byte_count, checksum, identity, error_type, error_text, next_page_id,
      previous_page_id, value, metadata, fresh_for, outbox_sequence, included_keys
    FROM entries WHERE partition = ? AND hash = ?
    """

  /// Reads a row of ``readWhole``.
  init(_ row: SQLiteStatement) throws {
    self.init(
      id: try row.integer(at: 0), partition: try row.integer(at: 1), hash: try row.hash(at: 2),
      identity: try row.text(at: 17), revision: try row.amount(at: 3), kind: try row.text(at: 4),
      coder: try row.text(at: 5), valueVersion: try row.integer(at: 6),
      valueUpdatedAt: try row.optionalInteger(at: 7), valueUpdateCount: try row.amount(at: 8),
      errorUpdatedAt: try row.optionalInteger(at: 9), errorUpdateCount: try row.amount(at: 10),
      errorType: try row.optionalText(at: 18), errorText: try row.optionalText(at: 19),
      invalidatedAt: try row.integer(at: 11), isPinned: try row.bool(at: 12),
      expiresAt: try row.optionalInteger(at: 13), lastUse: try row.optionalInteger(at: 14),
      byteCount: try row.amount(at: 15),
      checksum: row.isNull(at: 16) ? nil : try row.hash(at: 16),
      nextPageID: try row.optionalData(at: 20), previousPageID: try row.optionalData(at: 21),
      value: try row.optionalData(at: 22), metadata: try row.optionalData(at: 23),
      freshFor: try row.optionalInteger(at: 24),
      outboxSequence: try row.optionalInteger(at: 25),
      includedKeys: try row.optionalText(at: 26))
  }

  /// The row of a hash.
  static func whole(
    partition: Int64 = 1,
    _ hash: XXH128,
    on connection: SQLiteConnection
  ) throws -> EntryRow? {
    try connection.first(Self.readWhole, partition, hash) { try EntryRow($0) }
  }
}

extension PageRow {
  /// Entry: its pages, in order.
  static let readWhole: SQL = """
    SELECT id, entry, position, updated_at, checksum, page_id, value, metadata FROM pages
    WHERE entry = ? ORDER BY position
    """

  /// The pages of an entry, in order.
  static func whole(of entry: Int64, on connection: SQLiteConnection) throws -> [PageRow] {
    try connection.rows(Self.readWhole, entry) { row in
      PageRow(
        id: try row.integer(at: 0), entry: try row.integer(at: 1),
        position: try row.integer(at: 2), updatedAt: try row.integer(at: 3),
        checksum: try row.hash(at: 4), pageID: try row.data(at: 5), value: try row.data(at: 6),
        metadata: try row.optionalData(at: 7))
    }
  }
}

extension PartitionRow {
  /// The row of an account.
  static func named(_ name: String, on connection: SQLiteConnection) throws -> PartitionRow? {
    guard let id = try connection.first(Self.readID, name, read: { try $0.integer(at: 0) }) else {
      return nil
    }
    return try connection.first(Self.read, id) { try PartitionRow($0) }
  }
}
