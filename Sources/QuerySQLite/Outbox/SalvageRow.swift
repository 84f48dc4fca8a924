import Query

/// Records that the readable rows of a damaged file were salvaged into this one.
struct SalvageRow: Hashable {
  /// The name of the file that was set aside.
  let name: String
  /// Microseconds since 1970.
  let salvagedAt: Int64
  /// Whether none of its rows is missing here: otherwise it is kept for good.
  let isWhole: Bool

  /// Name, date, whether it is whole.
  static let insert: SQL = """
    INSERT INTO salvages (name, salvaged_at, is_whole) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
    """

  /// Name.
  static let find: SQL = "SELECT 1 FROM salvages WHERE name = ?"

  /// The names of those that were salvaged whole.
  static let whole: SQL = "SELECT name FROM salvages WHERE is_whole <> 0"

  /// Removes all rows.
  static let forget: SQL = "DELETE FROM salvages"
}
