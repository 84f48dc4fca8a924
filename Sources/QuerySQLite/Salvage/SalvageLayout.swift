import Migrations
import Query

/// The layout of a file's tables, which is known without the damaged file.
struct SalvageLayout {
  /// The values that a column may hold.
  struct Column {
    let name: String
    let type: String
    let isNullable: Bool
    /// Whether it is the row ID, and so NULL in the record.
    let isRowID: Bool

    func fits(_ value: StoredValue) -> Bool {
      switch value {
      case .null: self.isNullable || self.isRowID
      case .integer: self.type == "INTEGER" && !self.isRowID
      case .real: self.type == "REAL"
      case .text: self.type == "TEXT"
      case .blob: self.type == "BLOB"
      }
    }
  }

  /// A table or an index.
  struct Tree {
    let name: String
    let table: String
    let isTable: Bool
    /// The columns of its records; empty if nothing reads them.
    let columns: [Column]
    /// Its root page in a file that was just made, and in one that was vacuumed.
    let roots: [Int]

    func fits(_ record: [StoredValue]) -> Bool {
      if self.columns.isEmpty { return true }
      return record.count == self.columns.count
        && zip(self.columns, record).allSatisfy { $0.fits($1) }
    }
  }

  /// All of them by name, except the schema's.
  let trees: [String: Tree]

  /// The columns of the schema's table.
  let schemaColumns: [Column]

  /// Learns the layout from databases made in memory for that purpose.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  init(_ migrations: [Migration], of kind: DatabaseKind = .mutations) throws {
    let fresh = try SQLiteConnection.inMemory(migrations, of: kind)
    defer { try? fresh.close() }
    let made = try Self.objects(fresh)
    // An erase vacuums the file, and then the tables come before the indexes.
    try fresh.pragma("VACUUM")
    let vacuumed = try Self.objects(fresh)
    let columns = try Self.columns(fresh)
    var trees = [String: Tree]()
    for (name, object) in made {
      trees[name] = Tree(
        name: name, table: object.table, isTable: object.isTable,
        columns: columns[name] ?? [],
        roots: [object.root, vacuumed[name]?.root ?? object.root])
    }
    self.trees = trees
    self.schemaColumns = columns["sqlite_schema"] ?? []
  }

  private static let schema: SQL = """
    SELECT name, tbl_name, rootpage, type FROM sqlite_schema WHERE rootpage > 0
    """

  private static func objects(
    _ connection: SQLiteConnection
  ) throws -> [String: (table: String, root: Int, isTable: Bool)] {
    var objects = [String: (table: String, root: Int, isTable: Bool)]()
    let withoutRowID = try connection.rows(Self.withoutRowID) { try $0.text(at: 0) }
    let rows = try connection.rows(Self.schema) { row in
      (try row.text(at: 0), try row.text(at: 1), Int(try row.integer(at: 2)), try row.text(at: 3))
    }
    for (name, table, root, type) in rows {
      objects[name] = (table, root, type == "table" && !withoutRowID.contains(name))
    }
    return objects
  }

  private static let withoutRowID: SQL = """
    SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr = 1
    """

  private static let tableColumns: SQL = """
    SELECT t.name, c.name, c.type, c."notnull" <> 0 OR t.wr <> 0 AND c.pk > 0,
      c.pk = 1 AND c.type = 'INTEGER' AND t.wr = 0
    FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
    WHERE t.schema = 'main' AND t.type = 'table' ORDER BY t.name, c.cid
    """

  private static func columns(_ connection: SQLiteConnection) throws -> [String: [Column]] {
    let rows = try connection.rows(Self.tableColumns) { row in
      (
        try row.text(at: 0),
        Column(
          name: try row.text(at: 1), type: try row.text(at: 2), isNullable: !(try row.bool(at: 3)),
          isRowID: try row.bool(at: 4))
      )
    }
    var columns = [String: [Column]]()
    for (table, column) in rows { columns[table, default: []].append(column) }
    let text = Column(name: "text", type: "TEXT", isNullable: true, isRowID: false)
    let integer = Column(name: "integer", type: "INTEGER", isNullable: true, isRowID: false)
    let blob = Column(name: "id", type: "BLOB", isNullable: false, isRowID: false)
    columns["sqlite_schema"] = [text, text, text, integer, text]
    // The columns that the salvage reads from indexes.
    columns["outbox_by_id"] = [blob, integer]
    columns["outbox_leased"] = [blob, integer, text, text, integer, integer]
    columns["history_by_id"] = [blob, integer]
    columns["sqlite_autoindex_partitions_1"] = [text, integer]
    columns["dependencies_by_target"] = [integer, integer]
    return columns
  }
}
