import Query

/// The row of an account in `cache.sqlite`.
struct PartitionRow: Equatable {
  var id: Int64
  /// Raised by `erase()`.
  var epoch: Int64
  /// Whether an `erase()` is not done yet.
  var isErasing: Bool
  /// Raised by every change of an entry.
  var revision: Int64
  var entryCount: Int64
  var byteCount: Int64
}

// MARK: - SQL

extension PartitionRow {
  /// Name.
  static let insert: SQL = "INSERT INTO partitions (name) VALUES (?) ON CONFLICT DO NOTHING"

  /// Name.
  static let readByName: SQL = """
    SELECT id, epoch, is_erasing, revision, entry_count, byte_count FROM partitions WHERE name = ?
    """

  /// Id.
  static let read: SQL = """
    SELECT id, epoch, is_erasing, revision, entry_count, byte_count FROM partitions WHERE id = ?
    """

  /// What a commit adds to revision, entries and bytes, then id: once for each commit.
  static let add: SQL = """
    UPDATE partitions SET revision = revision + ?, entry_count = entry_count + ?,
      byte_count = byte_count + ? WHERE id = ?
    """

  init(_ row: SQLiteStatement) throws(StorageError) {
    self.id = try row.integer(at: 0)
    self.epoch = try row.integer(at: 1)
    self.isErasing = try row.bool(at: 2)
    self.revision = try row.integer(at: 3)
    self.entryCount = try row.integer(at: 4)
    self.byteCount = try row.integer(at: 5)
  }
}
