import Migrations
import Query

extension SQLiteConnection {
  /// Makes an empty database in memory.
  ///
  /// - Throws: `OpeningFailure`, `StorageError`.
  static func inMemory(
    _ migrations: [Migration], of kind: DatabaseKind = .mutations
  ) throws -> SQLiteConnection {
    var options = SQLiteConnection.Options()
    options.parameters = ["mode": "memory"]
    options.keepsReferences = false
    let connection = try SQLiteConnection(path: "/mutations.salvage", options: options)
    // It takes pages for itself.
    if kind.shrinks { try connection.pragma("PRAGMA auto_vacuum = 2") }
    try Migrator(connection: connection, migrations: migrations).migrate()
    return connection
  }
}
