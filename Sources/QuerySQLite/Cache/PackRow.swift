import Foundation
import Query

/// A pack in `cache.sqlite`.
package struct PackRow {
  let id: Int64
  let generation: Int64
  var pack: StoredPack

  /// Reads a row of ``read``.
  init(_ row: SQLiteStatement) throws {
    self.id = try row.integer(at: 0)
    self.generation = try row.integer(at: 1)
    self.pack = StoredPack(
      id: try row.uuid(at: 2), name: try row.text(at: 3),
      createdAt: Date(microsecondsSince1970: try row.integer(at: 4)),
      endsAt: try row.optionalInteger(at: 5).map { Date(microsecondsSince1970: $0) },
      refreshEvery: try row.optionalInteger(at: 6).map { .microseconds($0) },
      network: PackNetwork(rawValue: try row.text(at: 7)) ?? .unmetered)
  }
}

// MARK: - SQL

extension PackRow {
  private static let columns: SQL.Words = """
    SELECT id, generation, uuid, name, created_at, ends_at, refresh_every, network FROM packs
    """

  /// Partition.
  package static let readAll = SQL(
    assembling: "\(columns) WHERE partition = ? ORDER BY name")

  /// Partition, name.
  static let read = SQL(assembling: "\(columns) WHERE partition = ? AND name = ?")

  /// Partition, UUID.
  static let readSame = SQL(assembling: "\(columns) WHERE partition = ? AND uuid = ?")

  /// Partition, UUID, date, end, period, network, name.
  static let insert: SQL = """
    INSERT INTO packs (partition, uuid, generation, created_at, ends_at, refresh_every, network, name)
    VALUES (?, ?, 0, ?, ?, ?, ?, ?)
    """

  /// Generation, end, period, network, id.
  static let update: SQL = """
    UPDATE packs SET generation = ?, ends_at = ?, refresh_every = ?, network = ? WHERE id = ?
    """

  /// Id. Its members go with it.
  static let delete: SQL = "DELETE FROM packs WHERE id = ?"

  /// Partition.
  static let deleteAll: SQL = "DELETE FROM packs WHERE partition = ?"
}
