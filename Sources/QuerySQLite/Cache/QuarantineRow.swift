/// A value in `cache.sqlite` that could not be read, kept for a person to look at.
package enum QuarantineRow {
  /// Why it could not be read.
  enum Reason: String {
    case version
    case coder
    case undecodable
    case checksum
  }
}

// MARK: - Limits

extension QuarantineRow {
  /// How many rows a partition keeps.
  package static let maximumRows = 100

  /// How many bytes of values and page ids a partition keeps.
  package static let maximumBytes = 16 << 20

  /// How long a row is kept, in microseconds: 30 days.
  static let maximumAge: Int64 = 30 * 86_400 * 1_000_000
}

// MARK: - SQL

extension QuarantineRow {
  /// Date, reason, message, id of an entry: moves its value here. A damaged row may have a NULL in
  /// a column that allows none.
  static let insertEntry: SQL = """
    INSERT INTO quarantine (quarantined_at, reason, message, partition, hash, kind, coder,
      value_version, byte_count, checksum, identity, value)
    SELECT ?, ?, ?, partition, hash, coalesce(kind, ''), coalesce(coder, ''),
      coalesce(value_version, 0), coalesce(length(value), 0), checksum, coalesce(identity, ''), value
    FROM entries WHERE id = ?
    """

  /// Date, reason, message, id of an entry: moves its pages here.
  static let insertPages: SQL = """
    INSERT INTO quarantine (quarantined_at, reason, message, partition, hash, kind, coder,
      value_version, position, byte_count, checksum, identity, page_id, value)
    SELECT ?, ?, ?, e.partition, e.hash, coalesce(e.kind, ''), coalesce(e.coder, ''),
      coalesce(e.value_version, 0), p.position,
      coalesce(length(p.value), 0) + coalesce(length(p.page_id), 0), p.checksum,
      coalesce(e.identity, ''), p.page_id, p.value
    FROM pages AS p JOIN entries AS e ON e.id = p.entry WHERE e.id = ? ORDER BY p.position
    """

  /// Partition, oldest date that stays, rows that stay, bytes that stay: the three limits.
  static let prune: SQL = """
    DELETE FROM quarantine WHERE id IN (
      SELECT id FROM (
        SELECT id, quarantined_at, row_number() OVER newest AS number,
          sum(byte_count) OVER newest AS bytes
        FROM quarantine WHERE partition = ?
        WINDOW newest AS (ORDER BY quarantined_at DESC, id DESC)
      ) WHERE quarantined_at < ? OR number > ? OR bytes > ?)
    """

  /// Partition: one of its rows. Id, byte_count.
  static let readAny: SQL = """
    SELECT id, min(max(byte_count, 0), 1073741824) FROM quarantine WHERE partition = ?
    ORDER BY quarantined_at LIMIT 1
    """

  /// Id.
  static let delete: SQL = "DELETE FROM quarantine WHERE id = ?"
}
