import Foundation
import Query

/// A table whose rows stand in an export column by column.
struct ExportTable: Sendable {
  /// What its lines are.
  let kind: ExportLine.Kind
  /// The names in a line, and what the columns hold, in the order of ``read`` and ``insert``.
  let columns: [Column]
  /// The rows; what is bound, its own comment says.
  let read: SQL
  /// Partition, and then the columns.
  let insert: SQL

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
    static func identifier(_ name: String) -> Self { Self(name, .identifier) }
    var orNull: Self { Self(self.name, self.kind, isOptional: true) }
  }

  /// The line of the row that a statement stands on.
  ///
  /// - Throws: `StorageError` (mismatch).
  func line(_ row: SQLiteStatement) throws -> ExportLine {
    var columns = [(name: String, value: ExportValue)]()
    for (index, column) in self.columns.enumerated() {
      columns.append((column.name, try ExportValue(row, at: Int32(index), column.kind)))
    }
    return ExportLine(self.kind, columns)
  }

  /// The columns of a line; nil where one is missing, of another kind, or too many.
  func values(_ line: ExportLine) -> [ExportValue]? {
    if line.values.count > self.columns.count { return nil }
    var values = [ExportValue]()
    for column in self.columns {
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
      try statement.bind(partition, at: 1)
      for (index, value) in values.enumerated() {
        try value.bind(to: statement, at: Int32(index + 2))
      }
      try statement.run()
    }
  }
}
