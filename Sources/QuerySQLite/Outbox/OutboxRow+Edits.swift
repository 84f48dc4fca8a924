package import Query

extension OutboxRow {
  /// Partition: the running rows that have edits and have never waited. Id, edited paths, name, instance.
  static let leasedEdits: SQL = """
    SELECT id, edited_paths, name, instance FROM outbox INDEXED BY outbox_leased
    WHERE state = 'leased' AND partition = ? AND has_waited = 0 AND edited_paths IS NOT NULL
    """

  /// Partition, name, instance: the name and instance of the next mutation.
  static let nextName: SQL = """
    SELECT name, instance FROM outbox INDEXED BY outbox_by_name
    WHERE has_waited <> 0 AND partition = ? AND (name, instance) > (?, ?)
    ORDER BY name, instance LIMIT 1
    """

  /// Partition, name, instance: those with edits among the first live rows of a mutation. Id, edited paths.
  static let edits: SQL = """
    SELECT id, edited_paths FROM (
      SELECT id, state, edited_paths FROM outbox INDEXED BY outbox_by_name
      WHERE has_waited <> 0 AND partition = ? AND name = ? AND instance = ?
      ORDER BY number LIMIT 1000)
    WHERE state <> 'dead' AND edited_paths IS NOT NULL
    """
}

extension EditedPaths: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    Self(text: try row.text(at: index))
  }

  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(self.text, at: index)
  }
}
