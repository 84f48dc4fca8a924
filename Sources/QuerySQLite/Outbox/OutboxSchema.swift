import Migrations

/// The columns of the tables of `mutations.sqlite`, as this release's migrations make them.
package struct OutboxSchema: Sendable {
  /// A column.
  package struct Column: Sendable {
    package let name: String
    /// `INTEGER`, `TEXT` or `BLOB`: all tables are STRICT.
    package let type: String
    package let isOptional: Bool
  }

  private let tables: [String: [Column]]

  /// Makes the tables in a database in memory, and asks it for their columns.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  package init() throws {
    self.tables = try SalvageLayout(DatabaseKind.mutations.migrations).trees.mapValues { tree in
      tree.columns.map {
        Column(name: $0.name, type: $0.type, isOptional: $0.isNullable && !$0.isRowID)
      }
    }
  }

  /// The columns of a table, in order; empty if there is no such table.
  package func columns(of table: String) -> [Column] { self.tables[table] ?? [] }
}
