import Query

/// Records that a mutation needs another one to succeed.
enum DependencyRow {
  /// Dependant, target.
  static let insert: SQL = """
    INSERT INTO dependencies (dependant, target) VALUES (?, ?) ON CONFLICT DO NOTHING
    """

  /// Target, limit: the rows that need it.
  static let dependants: SQL = """
    SELECT dependant FROM dependencies WHERE target = ? AND dependant > 0 ORDER BY dependant LIMIT ?
    """

  /// The target's number below zero, target: whether it has ended without a success, while not all know
  /// that depend on it. Such a row stands among theirs.
  static let isMissed: SQL = "SELECT 1 FROM dependencies WHERE dependant = ? AND target = ?"

  /// Whether there is one at all.
  static let any: SQL = "SELECT 1 FROM dependencies LIMIT 1"

  /// Dependant: the rows that it needs.
  static let targets: SQL = "SELECT target FROM dependencies WHERE dependant = ? ORDER BY target"

  /// Dependant, target.
  static let delete: SQL = "DELETE FROM dependencies WHERE dependant = ? AND target = ?"

  /// Dependant.
  static let deleteByDependant: SQL = "DELETE FROM dependencies WHERE dependant = ?"

  /// Partition. Dependant, target.
  static let ofPartition: SQL = """
    SELECT d.dependant, d.target FROM dependencies AS d JOIN outbox AS o ON o.number = d.dependant
    WHERE o.partition = ?
    """
}
