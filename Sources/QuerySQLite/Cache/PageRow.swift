package import FoundationEssentials
package import Query

/// A page of an infinite query in `cache.sqlite`, or a value that is too large for its entry's row.
package struct PageRow: Equatable {
  /// The row's number; 0 before it is inserted.
  var id: Int64 = 0
  package var entry: Int64
  /// Orders the pages of an entry.
  package var position: Int64
  /// Microseconds since 1970: the last update of the entry's value when this page was written.
  var updatedAt: Int64
  /// As ``XXH128/init(pageID:value:)`` computes it.
  package var checksum: XXH128
  package var pageID: Data
  package var value: Data
  /// What the request finds again with the page; nil: nothing.
  package var metadata: Data?

  /// The distance between the positions of two pages that were appended one after the other: so
  /// many pages fit between them.
  package static let gap: Int64 = 1 << 32
}

extension PageRow {
  /// Makes the row of a page, of no entry and without a position yet.
  package init(pageID: Data, value: Data, updatedAt: Int64) {
    self.init(
      entry: 0, position: 0, updatedAt: updatedAt,
      checksum: XXH128(pageID: pageID, value: value), pageID: pageID, value: value)
  }
}

// MARK: - SQL

extension PageRow {
  /// Entry: position, checksum and page id of its pages, in order: what a write compares with. No
  /// value is read.
  static let readStamps: SQL = """
    SELECT position, checksum, page_id FROM pages WHERE entry = ? ORDER BY position
    """

  /// Entry: checksum, page id, value and metadata of its pages, in order.
  static let readContents: SQL = """
    SELECT checksum, page_id, value, metadata FROM pages WHERE entry = ? ORDER BY position
    """

  private static let insert: SQL = """
    INSERT INTO pages (entry, position, updated_at, checksum, page_id, value, metadata)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (entry, position) DO UPDATE SET updated_at = excluded.updated_at,
      checksum = excluded.checksum, page_id = excluded.page_id, value = excluded.value,
      metadata = excluded.metadata
    """

  /// Entry, position.
  static let delete: SQL = "DELETE FROM pages WHERE entry = ? AND position = ?"

  /// Entry, limit: some of its pages. Id, bytes.
  static let readSizes: SQL = """
    SELECT id, coalesce(length(value), 0) FROM pages WHERE entry = ? ORDER BY position LIMIT ?
    """

  /// Id.
  static let deleteRow: SQL = "DELETE FROM pages WHERE id = ?"

  /// Entry.
  static let deleteAll: SQL = "DELETE FROM pages WHERE entry = ?"

  /// Writes the page, and replaces one at its position.
  ///
  /// - Throws: `StorageError`.
  package func write(to connection: SQLiteConnection) throws(StorageError) {
    try connection.execute(
      Self.insert, self.entry, self.position, self.updatedAt, self.checksum, self.pageID,
      self.value, self.metadata)
  }
}
