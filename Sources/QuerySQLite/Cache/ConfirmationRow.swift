import Query

/// That a fetch has found the value of an entry as it is stored, apart from the entry: see the table
/// `confirmations`.
package enum ConfirmationRow {
  /// The most of them: to find the newest, all are read.
  static let limit = 500

  /// The confirmation `confirmed` of the entry `e`, if it is newer than what the entry has.
  package static let ofEntry: SQL.Words = """
    LEFT JOIN confirmations AS confirmed
      ON confirmed.entry = e.id AND confirmed.revision > e.revision
    """

  // What the two have together.

  package static let updatedAt: SQL.Words =
    "coalesce(confirmed.value_updated_at, e.value_updated_at)"
  package static let updateCount: SQL.Words =
    "coalesce(confirmed.value_update_count, e.value_update_count)"
  package static let freshFor: SQL.Words =
    "CASE WHEN confirmed.entry IS NULL THEN e.fresh_for ELSE confirmed.fresh_for END"
  package static let revision: SQL.Words = "coalesce(confirmed.revision, e.revision)"

  /// Revision, date, count, freshness, entry.
  fileprivate static let update: SQL = """
    UPDATE confirmations SET revision = ?, value_updated_at = ?, value_update_count = ?, fresh_for = ?
    WHERE entry = ?
    """

  /// Revision, date, count, freshness, entry, partition, the most there may be.
  fileprivate static let insert: SQL = """
    INSERT INTO confirmations
      (revision, value_updated_at, value_update_count, fresh_for, entry, partition)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT count(*) FROM confirmations) < ?7
    """

  /// Partition, revision: the entries confirmed after it. Identity, revision.
  static let readChanged: SQL = """
    SELECT e.identity, c.revision FROM confirmations AS c CROSS JOIN entries AS e ON e.id = c.entry
    WHERE c.partition = ? AND c.revision > ? AND c.revision > e.revision
    """

  /// Entry. The newest of the two.
  fileprivate static let fold: SQL = """
    UPDATE entries SET value_updated_at = c.value_updated_at,
      value_update_count = c.value_update_count, fresh_for = c.fresh_for
    FROM confirmations AS c
    WHERE entries.id = ? AND c.entry = entries.id AND c.revision > entries.revision
    """

  /// Entry: its use is as recent as its confirmation.
  fileprivate static let use: SQL = """
    UPDATE entries SET last_use = c.revision FROM confirmations AS c
    WHERE entries.id = ? AND c.entry = entries.id
      AND c.revision > max(entries.revision, coalesce(entries.last_use, 0))
    """
}

extension CacheChanges {
  /// Writes that a value was confirmed, beside its entry.
  ///
  /// - Parameter row: The entry, with its ``EntryRow/id``. It is given the next number.
  /// - Returns: Whether there was room: if not, the entry's row has to be written.
  /// - Throws: `StorageError`.
  mutating func confirmApart(_ row: inout EntryRow) throws -> Bool {
    guard let date = row.valueUpdatedAt else { return false }
    let revision = self.totals.revision + 1
    try self.connection.execute(
      ConfirmationRow.update, revision, date, row.valueUpdateCount, row.freshFor, row.id)
    if try self.connection.changes == 0 {
      try self.connection.execute(
        ConfirmationRow.insert, revision, date, row.valueUpdateCount, row.freshFor, row.id,
        self.partition, ConfirmationRow.limit)
      if try self.connection.changes == 0 { return false }
    }
    row.revision = self.nextRevision()
    self.hasConfirmations = true
    return true
  }

  /// Lets an entry's row have what was confirmed, ahead of a change of some of its columns, which gives it a
  /// newer number.
  ///
  /// - Throws: `StorageError`.
  func foldConfirmation(ofRowWithID id: Int64) throws {
    if self.hasConfirmations { try self.connection.execute(ConfirmationRow.fold, id) }
  }

  /// Lets an entry that was confirmed later than it was written or used count as used then, which costs two
  /// frames: what is confirmed is not among those that were used least recently.
  ///
  /// - Returns: Whether it was.
  /// - Throws: `StorageError`.
  func countConfirmationAsUse(ofRowWithID id: Int64) throws -> Bool {
    guard self.hasConfirmations else { return false }
    try self.connection.execute(ConfirmationRow.use, id)
    return try self.connection.changes > 0
  }
}
