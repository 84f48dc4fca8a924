import QuerySQLite

/// An entry of `cache.sqlite` without its value.
package struct InspectedEntry: Hashable, Sendable {
  /// The number of its row.
  package let id: Int64
  /// The account.
  package let partition: String
  /// The hash of the identity, as it is stored.
  package let hash: InspectedHash
  /// `query`, `infinite`, or the name of one of the application's own kinds.
  package let kind: String
  /// The name of the coder of its value.
  package let coder: String
  /// The version of its value.
  package let version: Int
  /// Bytes of the identity, the error, the value and the pages.
  package let byteCount: Int
  /// When the value was stored; nil: it never had one.
  package let storedAt: Int64?
  /// How often a value was set.
  package let updates: Int
  /// When it failed last; nil: it never failed.
  package let failedAt: Int64?
  /// How often it failed.
  package let failures: Int
  /// Whether the newest result is an error.
  package let hasError: Bool
  /// Whether the value was marked as stale.
  package let isInvalidated: Bool
  /// Whether it is never evicted: it is pinned, or in a pack.
  package let isPinned: Bool
  /// When it becomes too old to be shown, by `maxAge`; nil: never.
  package let expiresAt: Int64?
  /// The number of the partition's counter that its last change was given.
  package let revision: Int64
  /// The number that its last use was given; nil: it has not been used since it was stored.
  package let lastUse: Int64?
  /// The canonical text of its path.
  package let identity: String

  /// How fresh a value is.
  package enum Freshness: String, Hashable, Sendable, CaseIterable {
    /// It may be shown.
    case fresh
    /// Older than `maxAge`: it is a miss.
    case stale
    /// It was marked as stale: it is shown, and fetched again.
    case invalidated
    /// The newest result is an error.
    case error
    /// There is no value.
    case empty
  }

  /// How fresh it is: the first of error, empty, invalidated, stale, fresh that holds.
  ///
  /// - Parameter now: Microseconds since 1970.
  package func freshness(at now: Int64) -> Freshness {
    if self.hasError { return .error }
    guard let storedAt else { return .empty }
    if self.isInvalidated { return .invalidated }
    if let expiresAt, expiresAt <= now { return .stale }
    // A date in the future comes from a clock that jumped, and counts as stale.
    return storedAt > now.addingReportingOverflow(Self.tolerance).partialValue ? .stale : .fresh
  }

  /// How much two clocks may differ, in microseconds.
  private static let tolerance: Int64 = 60_000_000

  /// Orders evictions: the entry with the lowest number goes first.
  package var usedNumber: Int64 { max(self.revision, self.lastUse ?? 0) }
}

// MARK: - SQL

extension InspectedEntry {
  private static let columns: SQL.Words = """
    e.id, e.partition, e.hash, e.kind, e.coder, e.value_version, e.byte_count,
    \(ConfirmationRow.updatedAt), \(ConfirmationRow.updateCount), e.error_updated_at,
    e.error_update_count, e.error_type IS NOT NULL, e.invalidated_at > 0, \(EntryRow.isKept),
    e.expires_at, \(ConfirmationRow.revision), e.last_use, e.identity
    """

  /// Partition or NULL, kind or NULL, only invalidated ones, only failed ones, sorting: all but the
  /// value, in the order of ``init(_:_:identity:)``. Sorting: 1 by size, the largest first; 2 by
  /// age, the oldest first; 3 by use, the next to be evicted first; 4 by identity; else by number.
  ///
  /// There is no limit: with one, SQLite sorts by inserting into a tree, which takes twice as long.
  static let list = SQL(
    assembling: """
      SELECT \(columns)
      FROM entries AS e NOT INDEXED \(ConfirmationRow.ofEntry)
      WHERE (?1 IS NULL OR e.partition = ?1) AND (?2 IS NULL OR e.kind = ?2)
        AND (?3 = 0 OR e.invalidated_at > 0) AND (?4 = 0 OR e.error_type IS NOT NULL)
        AND e.partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
      ORDER BY
        CASE ?5 WHEN 1 THEN -e.byte_count
          WHEN 2 THEN coalesce(\(ConfirmationRow.updatedAt), e.error_updated_at)
          WHEN 3 THEN max(\(ConfirmationRow.revision), coalesce(e.last_use, 0)) END,
        CASE ?5 WHEN 4 THEN e.identity END, e.id
      """)

  /// Id: one row, as ``list``.
  static let read = SQL(
    assembling: """
      SELECT \(columns)
      FROM entries AS e \(ConfirmationRow.ofEntry)
      WHERE e.id = ? AND e.partition NOT IN (SELECT id FROM partitions WHERE is_erasing = 2)
      """)

  /// Reads a row.
  ///
  /// - Parameter partition: The name of the account.
  /// - Throws: `StorageError` (mismatch) if it is damaged.
  init(_ row: SQLiteStatement, partition: String) throws {
    self.id = try row.integer(at: 0)
    self.partition = partition
    self.hash = InspectedHash(try row.hash(at: 2))
    self.kind = try row.text(at: 3)
    self.coder = try row.text(at: 4)
    self.version = Int(try row.integer(at: 5))
    self.byteCount = Int(try row.integer(at: 6))
    self.storedAt = try row.optionalInteger(at: 7)
    self.updates = Int(try row.integer(at: 8))
    self.failedAt = try row.optionalInteger(at: 9)
    self.failures = Int(try row.integer(at: 10))
    self.hasError = try row.bool(at: 11)
    self.isInvalidated = try row.bool(at: 12)
    self.isPinned = try row.bool(at: 13)
    self.expiresAt = try row.optionalInteger(at: 14)
    self.revision = try row.integer(at: 15)
    self.lastUse = try row.optionalInteger(at: 16)
    self.identity = try row.text(at: 17)
  }
}
