// All statements on the table `entries`. A comment names the bound values in their order, and then
// the columns that are read.

// MARK: - One entry

extension EntryRow {
  /// The columns that an entry is made of, and its value unless the row is above a limit: then the
  /// value is not touched. SQLite takes the identity from the index; the hash is the row's own, and
  /// tells whether a damaged index has led to another one's row.
  private static let content: SQL.Words = """
    SELECT e.id, e.revision, e.hash, e.byte_count, e.checksum, e.kind, e.coder, e.value_version,
      \(ConfirmationRow.updatedAt), \(ConfirmationRow.updateCount), e.error_updated_at,
      e.error_update_count, e.invalidated_at,
      e.is_pinned, e.expires_at, e.error_type, e.error_text, e.next_page_id, e.previous_page_id,
      CASE WHEN e.byte_count <= ? THEN e.value END, e.identity, e.metadata,
      \(ConfirmationRow.freshFor), e.outbox_sequence, e.included_keys, confirmed.revision
    FROM entries AS e \(ConfirmationRow.ofEntry)
    """

  /// Limit, partition, identity: the one read of hydration. A process that still has the number of an
  /// account which another process has erased finds nothing.
  static let read = SQL(
    assembling: """
      \(content)
      WHERE e.partition = (SELECT id FROM partitions WHERE id = ? AND is_erasing <> 2)
        AND e.identity = ?
      """)

  /// Limit, partition, lowest identity, end: the entries under a path, as ``read``, in the order of
  /// their identities.
  static let readRange = SQL(
    assembling: """
      \(content)
      WHERE e.partition = (SELECT id FROM partitions WHERE id = ? AND is_erasing <> 2)
        AND e.identity >= ? AND e.identity < ? ORDER BY e.identity
      """)

  /// Partition, identity: what a write compares with, and whether the value is in this row. It names
  /// the index, so that a file that has lost the index is recognised as damaged.
  static let readStamp = SQL(
    assembling: """
      SELECT e.id, e.byte_count, e.hash, e.value IS NOT NULL, e.checksum, e.kind, e.coder,
        e.value_version, \(ConfirmationRow.updatedAt), \(ConfirmationRow.updateCount),
        e.error_updated_at, e.error_update_count, e.invalidated_at,
        e.is_pinned, e.expires_at, e.error_type, e.error_text, e.next_page_id, e.previous_page_id,
        e.metadata, \(ConfirmationRow.freshFor), e.outbox_sequence, e.included_keys
      FROM entries AS e INDEXED BY entries_by_identity \(ConfirmationRow.ofEntry)
      WHERE e.partition = ? AND e.identity = ?
      """)

  /// Partition, identity: the columns that a removal needs. Id, byte_count, hash, value_version.
  package static let readPlace: SQL = """
    SELECT id, byte_count, hash, value_version FROM entries WHERE partition = ? AND identity = ?
    """

  /// Partition, identity, revision of what could not be read: whether the row was not written since. It has
  /// an older revision than that if its value was confirmed apart, as it may have been since, too. Id,
  /// byte_count, 0 for an impossible one.
  static let readSame: SQL = """
    SELECT id, CASE WHEN byte_count BETWEEN 0 AND 1152921504606846976 THEN byte_count ELSE 0 END
    FROM entries
    WHERE partition = ? AND identity = ? AND coalesce(revision, 0) <= ?
    """

  /// Those of ``bindState(to:)`` and ``bindValue(to:)``, then partition, hash, identity, last use.
  static let insert: SQL = """
    INSERT INTO entries (revision, total_entries, total_bytes, value_updated_at, value_update_count,
      error_updated_at, error_update_count, error_type, error_text, invalidated_at, is_pinned, expires_at,
      byte_count, checksum, next_page_id, previous_page_id, metadata, fresh_for, outbox_sequence,
      included_keys, kind, coder, value_version, value, partition, hash, identity, last_use)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// Those of ``bindState(to:)`` and ``bindValue(to:)``, then id. `last_use` stays, so that a changed value
  /// costs no frame of its index.
  static let update: SQL = """
    UPDATE entries SET revision = ?, total_entries = ?, total_bytes = ?, value_updated_at = ?,
      value_update_count = ?, error_updated_at = ?, error_update_count = ?, error_type = ?,
      error_text = ?, invalidated_at = ?, is_pinned = ?, expires_at = ?, byte_count = ?, checksum = ?,
      next_page_id = ?, previous_page_id = ?, metadata = ?, fresh_for = ?, outbox_sequence = ?,
      included_keys = ?, kind = ?, coder = ?, value_version = ?, value = ? WHERE id = ?
    """

  /// Those of ``bindState(to:)``, then id: if the value's bytes are those in the file.
  static let updateState: SQL = """
    UPDATE entries SET revision = ?, total_entries = ?, total_bytes = ?, value_updated_at = ?,
      value_update_count = ?, error_updated_at = ?, error_update_count = ?, error_type = ?,
      error_text = ?, invalidated_at = ?, is_pinned = ?, expires_at = ?, byte_count = ?, checksum = ?,
      next_page_id = ?, previous_page_id = ?, metadata = ?, fresh_for = ?, outbox_sequence = ?,
      included_keys = ? WHERE id = ?
    """

  /// Number, partition, identity, the oldest number that is recent enough.
  static let updateUse: SQL = """
    UPDATE entries SET last_use = ?
    WHERE partition = ? AND identity = ? AND max(revision, coalesce(last_use, 0)) < ?
    """

  /// Time, revision, total entries and bytes, id.
  static let invalidate: SQL = """
    UPDATE entries SET invalidated_at = ?, revision = ?, total_entries = ?, total_bytes = ?
    WHERE id = ?
    """

  /// Id. Its pages go with it.
  static let delete: SQL = "DELETE FROM entries WHERE id = ?"
}

// MARK: - All entries of a partition

extension EntryRow {
  /// Whether the entry `e` stays when others are evicted: it is pinned, or in a pack.
  package static let isKept: SQL.Words = """
    (e.is_pinned <> 0 OR EXISTS (SELECT 1 FROM pack_members AS m
      WHERE m.partition = e.partition AND m.hash = e.hash))
    """

  /// Partition, revision: the entries written after it, in order. Identity, revision.
  static let readChanged: SQL = """
    SELECT identity, revision FROM entries WHERE partition = ? AND revision > ? ORDER BY revision
    """

  /// Time, partition, lowest identity, end: the entries under a path, in the order of their identities. Id,
  /// identity, whether it must be invalidated: it is not, even if its value answers another, or was earlier, and
  /// a fetch may have begun since.
  static let readValidity: SQL = """
    SELECT id, identity, coalesce(invalidated_at < ?, 0) FROM entries INDEXED BY entries_by_identity
    WHERE partition = ? AND identity >= ? AND identity < ? ORDER BY identity
    """

  /// Partition, now, expiry and id of the row before, limit: expired entries, the oldest first. An
  /// ``EvictionCandidate``.
  static let readExpired = SQL(
    assembling: """
      SELECT id, identity, byte_count, \(isKept), revision, last_use, expires_at
      FROM entries AS e INDEXED BY entries_by_expiry
      WHERE partition = ? AND expires_at < ? AND (expires_at, id) > (?, ?)
      ORDER BY expires_at, id LIMIT ?
      """)

  /// Partition, revision of the row before, limit: in the order of writing. An
  /// ``EvictionCandidate``.
  static let readWritten = SQL(
    assembling: """
      SELECT id, identity, byte_count, \(isKept), revision, last_use, expires_at
      FROM entries AS e INDEXED BY entries_by_revision
      WHERE partition = ? AND revision > ? ORDER BY revision LIMIT ?
      """)

  /// Partition, last use of the row before, limit: in the order of use. An ``EvictionCandidate``.
  static let readUsed = SQL(
    assembling: """
      SELECT id, identity, byte_count, \(isKept), revision, last_use, expires_at
      FROM entries AS e INDEXED BY entries_by_use
      WHERE partition = ? AND last_use > ? ORDER BY last_use LIMIT ?
      """)

  /// Partition: one of its entries. Id, byte_count.
  static let readAny: SQL = """
    SELECT id, min(max(byte_count, 0), 1073741824) FROM entries INDEXED BY entries_by_revision
    WHERE partition = ? ORDER BY revision LIMIT 1
    """
}
