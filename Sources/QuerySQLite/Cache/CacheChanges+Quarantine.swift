import FoundationEssentials
import Query

extension CacheChanges {
  /// Moves an unreadable entry to the quarantine, with its pages, unless it has been written again
  /// since. If the quarantine has too many rows, the oldest are deleted.
  ///
  /// - Parameters:
  ///   - identity: The identity under which it is stored.
  ///   - revision: The revision of the unreadable entry: its row's, or that of its confirmation.
  ///   - miss: The reason, one for which `isQuarantined` is true.
  ///   - now: The time.
  /// - Returns: Whether it was moved.
  /// - Throws: `StorageError`.
  mutating func quarantine(
    _ identity: QueryIdentity,
    revision: Int64,
    _ miss: StorageMiss,
    now: Date
  ) throws -> Bool {
    guard let (reason, message) = QuarantineRow.reason(of: miss) else { return false }
    let found = try self.connection.first(
      EntryRow.readSame, self.partition, identity.text, revision
    ) { (id: try $0.integer(at: 0), bytes: Int(try $0.integer(at: 1))) }
    guard let (id, bytes) = found else { return false }
    let date = now.microsecondsSince1970
    try self.connection.execute(
      QuarantineRow.insertEntry, date, reason.rawValue, message, id)
    try self.connection.execute(
      QuarantineRow.insertPages, date, reason.rawValue, message, id)
    try self.removeRow(id, bytes: bytes)
    try self.connection.execute(
      QuarantineRow.prune, self.partition, date - QuarantineRow.maximumAge,
      QuarantineRow.maximumRows, QuarantineRow.maximumBytes)
    return true
  }
}

extension QuarantineRow {
  /// The reason and the message for moving an entry to the quarantine; nil for a miss that leaves
  /// the entry in place.
  static func reason(of miss: StorageMiss) -> (Reason, message: String?)? {
    switch miss {
    case .olderVersion(let version): (.version, "\(version)")
    case .otherCoder(let name): (.coder, name)
    case .undecodable(let message): (.undecodable, message)
    case .wrongChecksum: (.checksum, nil)
    case .absent, .expired, .newerVersion, .collision, .failed: nil
    }
  }
}
