import Query

/// The row of an account in `cache.sqlite`.
package struct PartitionRow: Equatable {
  var id: Int64
  /// Incremented by `erase()`.
  var epoch: Int64
  /// Whether an `erase()` is unfinished.
  var isErasing: Bool
  /// The newest number that was given to a change or a use of an entry, whether this row, an entry's or a
  /// confirmation's shows it.
  package var revision: Int64
  package var entryCount: Int64
  var byteCount: Int64
  /// Whether the row has the account's name. `erase()` takes it away until something is written
  /// again: see ``ErasedName``.
  var isNamed: Bool
  /// Whether values are confirmed apart from their entries.
  var hasConfirmations: Bool

  /// The partition's totals.
  var totals: CacheChanges.Totals {
    get {
      CacheChanges.Totals(
        entries: Int(self.entryCount), bytes: Int(self.byteCount), revision: self.revision)
    }
    set {
      self.entryCount = Int64(newValue.entries)
      self.byteCount = Int64(newValue.bytes)
      self.revision = newValue.revision
    }
  }
}

// MARK: - SQL

extension PartitionRow {
  /// Name.
  static let insert: SQL = "INSERT INTO partitions (name) VALUES (?) ON CONFLICT DO NOTHING"

  /// Name. Id.
  static let readID: SQL = "SELECT id FROM partitions WHERE name = ?"

  /// The accounts, each with its entry that was written last, `newest`.
  package static let withNewest: SQL.Words = """
    partitions AS p LEFT JOIN entries AS newest ON newest.id =
      (SELECT id FROM entries AS e WHERE e.partition = p.id ORDER BY e.revision DESC LIMIT 1)
    """

  /// The totals of an account of ``withNewest``: entries, bytes.
  package static let totals: SQL.Words = """
    CASE WHEN newest.revision > p.revision THEN newest.total_entries ELSE p.entry_count END,
    CASE WHEN newest.revision > p.revision THEN newest.total_bytes ELSE p.byte_count END
    """

  /// Id. The last column: the newest confirmation's revision.
  static let read = SQL(
    assembling: """
      SELECT p.id, p.epoch, p.is_erasing, max(p.revision, coalesce(newest.revision, 0)),
        \(totals), substr(p.name, 1, 7) <> 'erased:',
        (SELECT coalesce(max(c.revision), 0) FROM confirmations AS c WHERE c.partition = p.id)
      FROM \(withNewest) WHERE p.id = ?
      """)

  /// Id.
  static let readName: SQL = "SELECT name FROM partitions WHERE id = ?"

  /// Name, id.
  static let rename: SQL = "UPDATE partitions SET name = ? WHERE id = ?"

  /// Revision, entries and bytes, then id: at most once for each commit.
  static let updateTotals: SQL = """
    UPDATE partitions SET revision = ?, entry_count = ?, byte_count = ? WHERE id = ?
    """

  init(_ row: SQLiteStatement) throws(StorageError) {
    self.id = try row.integer(at: 0)
    self.epoch = try row.amount(at: 1)
    self.isErasing = try row.bool(at: 2)
    let confirmed = try row.amount(at: 7)
    self.revision = max(try row.amount(at: 3), confirmed)
    self.entryCount = try row.amount(at: 4)
    self.byteCount = try row.amount(at: 5)
    self.isNamed = try row.bool(at: 6)
    self.hasConfirmations = confirmed > 0
  }
}
