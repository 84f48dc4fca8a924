package import FoundationEssentials
import Query
import QuerySQLite

/// An unreadable row of `cache.sqlite` in quarantine.
package struct InspectedQuarantine: Hashable, Sendable {
  /// Its number.
  package let id: Int64
  /// The account.
  package let partition: String
  /// The hash of the identity that it was stored under.
  package let hash: InspectedHash
  /// When it was moved here, microseconds since 1970.
  package let quarantinedAt: Int64
  /// `version`, `coder`, `undecodable` or `checksum`.
  package let reason: String
  /// Details of the reason.
  package let message: String?
  /// `query`, `infinite` or another kind.
  package let kind: String
  /// The name of the coder.
  package let coder: String
  /// The version of the value.
  package let version: Int
  /// The position of a page; nil: the row is the entry itself.
  package let position: Int64?
  /// Bytes of the value and the page's ID.
  package let byteCount: Int
  /// The canonical text of the path.
  package let identity: String
}

// MARK: - SQL

extension InspectedQuarantine {
  /// Partition: the newest first.
  static let list: SQL = """
    SELECT id, hash, quarantined_at, reason, message, kind, coder, value_version, position,
      byte_count, identity
    FROM quarantine WHERE partition = ? ORDER BY quarantined_at DESC, id DESC
    """

  /// Id. Page id, value.
  static let read: SQL = "SELECT page_id, value FROM quarantine WHERE id = ?"

  /// Id.
  static let delete: SQL = "DELETE FROM quarantine WHERE id = ?"

  init(_ row: SQLiteStatement, partition: String) throws {
    self.id = try row.integer(at: 0)
    self.partition = partition
    self.hash = InspectedHash(try row.hash(at: 1))
    self.quarantinedAt = try row.integer(at: 2)
    self.reason = try row.text(at: 3)
    self.message = try row.optionalText(at: 4)
    self.kind = try row.text(at: 5)
    self.coder = try row.text(at: 6)
    self.version = Int(try row.integer(at: 7))
    self.position = try row.optionalInteger(at: 8)
    self.byteCount = Int(try row.integer(at: 9))
    self.identity = try row.text(at: 10)
  }
}

extension StoreInspection {
  /// The rows in quarantine: at most 100 of each account, the newest first.
  ///
  /// - Throws: `InspectionError`.
  package func quarantine(
    in partition: String? = nil
  ) throws(InspectionError) -> [InspectedQuarantine] {
    try self.require(partition: partition)
    let found = try self.readIfThere(.cache) { connection in
      try Self.partitions(partition, on: connection).flatMap { id, name in
        try connection.rows(InspectedQuarantine.list, id) {
          try InspectedQuarantine($0, partition: name)
        }
      }
    }
    return found ?? []
  }

  /// Reads the stored bytes of a row.
  ///
  /// - Parameter id: Its number.
  /// - Throws: `InspectionError`: not found, and the errors of reading.
  package func quarantinedValue(
    _ id: Int64
  ) throws(InspectionError) -> (pageID: Data?, value: Data?) {
    let found = try self.readIfThere(.cache) { connection in
      try connection.first(InspectedQuarantine.read, id) {
        (pageID: try $0.optionalData(at: 0), value: try $0.optionalData(at: 1))
      }
    }
    guard let value = found ?? nil else { throw .notFound("row \(id) in quarantine") }
    return value
  }
}
