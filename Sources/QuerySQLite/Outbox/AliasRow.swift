import Query

/// A client's name for something that the server names otherwise.
enum AliasRow {
  /// Partition, alias, value, publisher, date, newest number. The first value is kept.
  static let insert: SQL = """
    INSERT INTO aliases (partition, alias, value, publisher, published_at, newest_number)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """

  /// Partition, alias.
  static let read: SQL = "SELECT value FROM aliases WHERE partition = ? AND alias = ?"

  /// Partition, alias, limit: the rows that wait for it.
  static let awaiting: SQL = """
    SELECT number FROM outbox WHERE awaited_alias IS NOT NULL AND partition = ? AND awaited_alias = ?
    ORDER BY number LIMIT ?
    """

  /// Partition: whether any row waits for one.
  static let anyAwaiting: SQL = """
    SELECT 1 FROM outbox WHERE awaited_alias IS NOT NULL AND partition = ? LIMIT 1
    """

  /// Partition, number: whether an earlier live row may publish one.
  static let hasEarlier: SQL = """
    SELECT 1 FROM outbox WHERE partition = ? AND number < ? AND state <> 'dead' LIMIT 1
    """

  /// Partition.
  static let any: SQL = "SELECT 1 FROM aliases WHERE partition = ? LIMIT 1"

  /// Partition, date.
  static let hasOld: SQL = """
    SELECT 1 FROM aliases WHERE partition = ? AND published_at < ? LIMIT 1
    """

  /// Partition, date, the lowest number of a live row, limit: aliases that no row can need.
  static let prune: SQL = """
    DELETE FROM aliases WHERE id IN (
      SELECT id FROM aliases WHERE partition = ? AND published_at < ? AND newest_number < ? LIMIT ?)
    """

  /// Partition, number: the lowest live number behind it.
  static let firstLiveAfter: SQL = """
    SELECT number FROM outbox WHERE partition = ? AND number > ? AND state <> 'dead'
    ORDER BY number LIMIT 1
    """

  /// Partition: the lowest live number.
  static let firstLive: SQL = """
    SELECT number FROM outbox WHERE partition = ? AND state <> 'dead' ORDER BY number LIMIT 1
    """
}
