import FoundationEssentials
import Query
import QuerySQLite

/// A table whose rows are exported column by column.
struct ExportTable: Sendable {
  /// The kind of its lines.
  let kind: ExportLine.Kind
  /// The names in a line, and the types of the columns, in the order of ``read`` and ``insert``.
  let columns: [Column]
  /// Reads the rows; each table's comment names the bindings.
  let read: SQL
  /// Inserts a row: the columns, after the partition if ``hasPartition``.
  let insert: SQL
  /// Whether its rows name their account.
  let hasPartition: Bool

  /// A column.
  struct Column: Sendable {
    let name: String
    let kind: ExportValue.Kind
    let isOptional: Bool

    init(_ name: String, _ kind: ExportValue.Kind, isOptional: Bool = false) {
      self.name = name
      self.kind = kind
      self.isOptional = isOptional
    }

    static func integer(_ name: String) -> Self { Self(name, .integer) }
    static func text(_ name: String) -> Self { Self(name, .text) }
    static func bytes(_ name: String) -> Self { Self(name, .bytes) }
    var orNull: Self { Self(self.name, self.kind, isOptional: true) }
  }

  /// The position of a column in ``read``.
  ///
  /// - Precondition: The table has it.
  func index(of name: String) -> Int32 {
    guard let index = self.columns.firstIndex(where: { $0.name == name }) else {
      preconditionFailure("an exported table has no column \(name)")
    }
    return Int32(index)
  }

  /// The line of a statement's current row.
  ///
  /// - Throws: `StorageError` (mismatch).
  func line(_ row: SQLiteStatement) throws -> ExportLine {
    ExportLine(self.kind, try Self.values(of: self.columns, row))
  }

  /// The values of a statement's current row.
  ///
  /// - Throws: `StorageError` (mismatch).
  static func values(
    of columns: [Column], _ row: SQLiteStatement
  ) throws -> [(name: String, value: ExportValue)] {
    try columns.enumerated().map { index, column in
      (column.name, try ExportValue(row, at: Int32(index), column.kind))
    }
  }

  /// The columns of a line; nil if one is missing or of another type, or if there are too many.
  func values(_ line: ExportLine) -> [ExportValue]? { Self.values(of: self.columns, line) }

  /// The columns of a line; nil if one is missing or of another type, or if there are too many.
  static func values(of columns: [Column], _ line: ExportLine) -> [ExportValue]? {
    if line.values.count > columns.count { return nil }
    var values = [ExportValue]()
    for column in columns {
      guard let value = ExportValue(line.values[column.name], column.kind),
        value != .null || column.isOptional
      else { return nil }
      values.append(value)
    }
    let given = values.count { $0 != .null }
    return given == line.values.count ? values : nil
  }

  /// Inserts a row.
  ///
  /// - Throws: `StorageError`.
  func insert(
    _ values: [ExportValue], partition: Int64, on connection: SQLiteConnection
  ) throws {
    try connection.withStatement(self.insert) { statement in
      if self.hasPartition { try statement.bind(partition, at: 1) }
      for (index, value) in values.enumerated() {
        try value.bind(to: statement, at: Int32(index) + (self.hasPartition ? 2 : 1))
      }
      try statement.run()
    }
  }
}
