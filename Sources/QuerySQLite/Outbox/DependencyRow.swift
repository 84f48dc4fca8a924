import Query

/// Records that a mutation needs another one to succeed.
enum DependencyRow {
  /// Dependant, target.
  static let insert: SQL = """
    INSERT INTO dependencies (dependant, target) VALUES (?, ?) ON CONFLICT DO NOTHING
    """

  /// Target: the rows that need it.
  static let dependants: SQL = """
    SELECT dependant FROM dependencies WHERE target = ? ORDER BY dependant
    """

  /// Whether there is one at all.
  static let any: SQL = "SELECT 1 FROM dependencies LIMIT 1"

  /// Dependant: the rows that it needs.
  static let targets: SQL = "SELECT target FROM dependencies WHERE dependant = ? ORDER BY target"

  /// Target.
  static let deleteByTarget: SQL = "DELETE FROM dependencies WHERE target = ?"

  /// Dependant.
  static let deleteByDependant: SQL = "DELETE FROM dependencies WHERE dependant = ?"
}
