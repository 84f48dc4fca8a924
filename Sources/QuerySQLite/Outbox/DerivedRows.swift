package import Query

/// The rows that follow from an outbox's, if anything but its own transactions has written those:
/// made in one write transaction of the caller's.
package struct DerivedRows {
  let connection: SQLiteConnection
  let now: OutboxTime

  package init(connection: SQLiteConnection, now: OutboxTime) {
    self.connection = connection
    self.now = now
  }

  /// Makes the heads of lanes. There must be none.
  ///
  /// - Parameter numbers: The numbers of the rows, the lowest first.
  /// - Throws: `StorageError`.
  package func makeHeads(of numbers: [Int64]) throws {
    var lanes = Set<String>()
    let pausedLanes = try PauseRow.pausedLanes(on: self.connection)
    // One that runs is the head of its lane, whatever was retried before it meanwhile.
    let running = try self.connection.rows(Self.running) { try $0.integer(at: 0) }
    for number in Set(running).intersection(numbers).sorted() + numbers {
      guard let row = try self.connection.first(OutboxRow.read, number, read: OutboxRow.init),
        row.wantsHead
      else { continue }
      // Numbers ascend: the first row of a lane is its head.
      let lane = row.lane.map { "\(row.partition) \($0)" }
      if let lane, !lanes.insert(lane).inserted { continue }
      let isPaused = lane.map(pausedLanes.contains) ?? false
      try LaneHeadRow(row, self.now, isPaused: isPaused).write(
        LaneHeadRow.write, of: row, on: self.connection)
    }
    try self.connection.execute(ClockRow.setBoot, self.now.bootID)
  }

  private static let running: SQL =
    "SELECT number FROM outbox NOT INDEXED WHERE state = 'leased' AND lane IS NOT NULL"

  /// Partition, or NULL for all.
  private static let count: SQL = """
    UPDATE partitions SET
      pending_count = (SELECT count(*) FROM outbox AS o
        WHERE o.partition = partitions.id AND o.state = 'pending'),
      leased_count = (SELECT count(*) FROM outbox AS o
        WHERE o.partition = partitions.id AND o.state = 'leased'),
      dead_count = (SELECT count(*) FROM outbox AS o
        WHERE o.partition = partitions.id AND o.state = 'dead'),
      history_count = (SELECT count(*) FROM history AS h WHERE h.partition = partitions.id),
      history_bytes = (SELECT coalesce(sum(min(max(byte_count, 0), 1099511627776)), 0)
        FROM history AS h WHERE h.partition = partitions.id),
      ill_hosts = (SELECT count(*) FROM hosts AS h WHERE h.partition = partitions.id),
      pause_count = (SELECT count(*) FROM pauses AS p WHERE p.partition = partitions.id),
      last_sequence = max(last_sequence, coalesce((SELECT max(sequence) FROM history), 0)),
      revision = CASE WHEN revision < 9223372036854775807 THEN revision + 1 ELSE 0 END
    WHERE ?1 IS NULL OR id = ?1
    """

  /// Counts the rows of a partition; nil: of all.
  ///
  /// - Throws: `StorageError`.
  package func countRows(of partition: Int64?) throws {
    try self.connection.execute(Self.count, partition)
  }

  private static let raise: SQL = """
    UPDATE partitions SET
      last_number = max(last_number, ?), last_sequence = max(last_sequence, ?)
    """

  /// Makes sure that no number and no sequence of an end up to given ones is assigned again.
  ///
  /// - Throws: `StorageError`.
  package func keepNumbersRising(above newest: Int64, sequence: Int64 = 0) throws {
    try self.connection.execute(Self.raise, newest, sequence)
  }
}
