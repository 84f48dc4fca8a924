import FoundationEssentials
import Query

/// The rows of what is paused apart from all of an account.
enum PauseRow {
  /// Partition.
  static let read: SQL = "SELECT part, value, paused_at FROM pauses WHERE partition = ?"

  /// Partition, part, value, date.
  static let insert: SQL = """
    INSERT INTO pauses (partition, part, value, paused_at) VALUES (?, ?, ?, ?)
    ON CONFLICT DO NOTHING
    """

  /// Partition, part, value.
  static let delete: SQL = "DELETE FROM pauses WHERE partition = ? AND part = ? AND value = ?"

  /// Partition, limit.
  static let erase: SQL = """
    DELETE FROM pauses WHERE partition = ?1
      AND (part, value) IN (SELECT part, value FROM pauses WHERE partition = ?1 LIMIT ?2)
    """

  /// The lanes that are paused, of all accounts.
  private static let lanes: SQL = "SELECT partition, value FROM pauses WHERE part = 'lane'"

  /// Reads what is paused of a partition, and since when.
  ///
  /// - Throws: `StorageError`.
  static func pauses(
    of partition: OutboxPartitionRow, on connection: SQLiteConnection
  ) throws -> OutboxPauses {
    var pauses = OutboxPauses()
    pauses[.everything] = partition.pausedAt.map { Date(microsecondsSince1970: $0) }
    if partition.pauseCount == 0 { return pauses }
    let rows = try connection.rows(Self.read, partition.id) { row in
      (
        OutboxPause(part: try row.text(at: 0), value: try row.text(at: 1)),
        Date(microsecondsSince1970: try row.integer(at: 2))
      )
    }
    // One of a later release holds what this one does not know.
    for case (let pause?, let date) in rows { pauses[pause] = date }
    return pauses
  }

  /// The lanes that are paused, each after the number of its account.
  ///
  /// - Throws: `StorageError`.
  static func pausedLanes(on connection: SQLiteConnection) throws -> Set<String> {
    Set(
      try connection.rows(Self.lanes) { row in "\(try row.integer(at: 0)) \(try row.text(at: 1))" })
  }
}

extension OutboxTransaction {
  /// Begins or ends a pause.
  ///
  /// - Throws: `StorageError`.
  mutating func set(_ pause: OutboxPause, isPaused: Bool) throws {
    // Names that Swift takes for equal may have other bytes: those on disk are the ones to look for.
    let known = self.pauses.index(forKey: pause).map { self.pauses[$0].key }
    if (known != nil) == isPaused { return }
    let pause = known ?? pause
    self.pauses[pause] = isPaused ? self.now.wall : nil
    if let words = pause.words {
      if isPaused {
        try self.connection.execute(
          PauseRow.insert, self.partition.id, words.part, words.value, self.nowAt)
      } else {
        try self.connection.execute(
          PauseRow.delete, self.partition.id, words.part, words.value)
      }
      self.partition.pauseCount = max(self.partition.pauseCount + (isPaused ? 1 : -1), 0)
    } else {
      self.partition.pausedAt = isPaused ? self.nowAt : nil
    }
    // The head of a lane says whether a claim may look at it.
    if case .lane(let lane) = pause { try self.findHead(of: lane.canonicallyComposed) }
    self.tell(.released)
  }
}
