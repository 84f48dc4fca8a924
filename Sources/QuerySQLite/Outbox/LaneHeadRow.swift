import FoundationEssentials
import Glibc
package import Query

/// The first row of a lane, which is all that a claim reads.
struct LaneHeadRow: Equatable {
  /// Its effect on the lane.
  enum State: String {
    case ready
    case leased
    case dependency
    case authentication
    case handler
    case halted
    case paused
  }

  var state: State
  /// Whether it was tried before.
  var isRepeat: Bool
  /// Since when it is due, or when it will be, by `CLOCK_BOOTTIME` of this boot, microseconds; 0: at
  /// once.
  var dueBoottime: Int64

  /// Makes the head that a row is of its lane.
  ///
  /// - Parameters:
  ///   - row: The row.
  ///   - now: The time.
  ///   - isPaused: Whether its lane is paused: nothing but that keeps such a head from running.
  init(_ row: OutboxRow, _ now: OutboxTime, isPaused: Bool) {
    (self.isRepeat, self.dueBoottime) = (row.standing.isRepeat, 0)
    switch row.standing.state {
    case .leased: self.state = .leased
    case .dead: self.state = .halted
    case .pending:
      switch row.standing.wait {
      case _ where row.hasDependencies: self.state = .dependency
      case .alias: self.state = .dependency
      case .credentials: self.state = .authentication
      case .handler: self.state = .handler
      case .nothing where isPaused: self.state = .paused
      case .time where isPaused: self.state = .paused
      case .nothing, .time:
        self.state = .ready
        self.dueBoottime = row.standing.dueBoottime(now)
      }
    }
  }
}

// MARK: - SQL

extension LaneHeadRow {
  /// Runs ``insert`` or ``write``.
  ///
  /// - Throws: `StorageError`.
  func write(_ sql: SQL, of row: OutboxRow, on connection: SQLiteConnection) throws {
    try connection.execute(
      sql, row.number, row.partition, row.lane, row.name, row.instance, row.version,
      row.effectiveHost, self.state.rawValue, row.priority.rawValue, self.isRepeat, self.dueBoottime
    )
  }

  /// Number, partition, lane, name, instance, version, host, state, priority, whether it is a repeat, due:
  /// replaces the lane's head, and the row's.
  static let write: SQL = """
    INSERT OR REPLACE INTO lane_heads
      (number, partition, lane, name, instance, version, host, state, priority, is_repeat, due_boottime)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// The same, replacing none.
  static let insert: SQL = """
    INSERT INTO lane_heads
      (number, partition, lane, name, instance, version, host, state, priority, is_repeat, due_boottime)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  /// Number.
  static let readLane: SQL = "SELECT lane FROM lane_heads WHERE number = ?"

  /// Number.
  static let delete: SQL = "DELETE FROM lane_heads WHERE number = ?"

  /// Partition, lane.
  static let deleteOfLane: SQL = "DELETE FROM lane_heads WHERE partition = ? AND lane = ?"

  /// Partition, lane.
  static let readOfLane: SQL = "SELECT number FROM lane_heads WHERE partition = ? AND lane = ?"

  /// Partition, lane: the row that should be the head, unless one that runs is.
  static let find: SQL = """
    SELECT number FROM outbox
    WHERE partition = ? AND lane = ? AND lane IS NOT NULL
      AND (dead_reason IS NULL OR on_failure = 'halt')
    ORDER BY number LIMIT 1
    """

  /// Partition, lane: the first one that runs.
  static let findRunning: SQL = """
    SELECT number FROM outbox INDEXED BY outbox_leased
    WHERE state = 'leased' AND partition = ? AND lane = ? ORDER BY number LIMIT 1
    """

  /// Partition, name, instance, version, host and priority of the previous result, highest version: the
  /// first head of the next version, host and priority. Those, whether it is a repeat, due, number.
  ///
  /// SQLite seeks the first row that is not less than such a list of values, and reads on to the first that is
  /// greater: no head is a repeat by 2, so that none of the previous group is read.
  static let nextGroup: SQL = """
    SELECT version, host, priority, is_repeat, due_boottime, number FROM lane_heads
    WHERE state = 'ready' AND partition = ? AND name = ? AND instance = ?
      AND (version, host, priority, is_repeat) > (?, ?, ?, 2) AND version <= ?
    ORDER BY version, host, priority, is_repeat, due_boottime, number LIMIT 1
    """

  /// Partition, name, instance, version, host, priority, number: the next due head of the same group that was never
  /// tried.
  static let nextFirstTry: SQL = """
    SELECT number FROM lane_heads
    WHERE state = 'ready' AND partition = ? AND name = ? AND instance = ? AND version = ?
      AND host = ? AND priority = ? AND is_repeat = 0 AND due_boottime = 0 AND number > ?
    ORDER BY number LIMIT 1
    """

  /// Partition, name, instance, version, host, priority, due and number of the previous one, now: the next due head
  /// of the same group that was tried. Due, number.
  static let nextRepeat: SQL = """
    SELECT due_boottime, number FROM lane_heads
    WHERE state = 'ready' AND partition = ? AND name = ? AND instance = ? AND version = ?
      AND host = ? AND priority = ? AND is_repeat = 1 AND (due_boottime, number) > (?, ?) AND due_boottime <= ?
    ORDER BY due_boottime, number LIMIT 1
    """

  /// Partition, name, instance, version, host, priority, whether it was tried, now: when the next one of the
  /// group becomes due. SQLite is told the index: it would look whether the values imply the condition of another
  /// one, and plan the statement anew whenever they change.
  static let firstWaiting: SQL = """
    SELECT due_boottime FROM lane_heads INDEXED BY lane_heads_ready
    WHERE state = 'ready' AND partition = ? AND name = ? AND instance = ? AND version = ?
      AND host = ? AND priority = ? AND is_repeat = ? AND due_boottime > ?
    ORDER BY due_boottime LIMIT 1
    """

  /// Now, limit: those that were never tried, and have become due.
  static let findDue: SQL = """
    SELECT number FROM lane_heads
    WHERE state = 'ready' AND is_repeat = 0 AND due_boottime > 0 AND due_boottime <= ?
    ORDER BY due_boottime LIMIT ?
    """

  /// Due, number.
  static let setDue: SQL = "UPDATE lane_heads SET due_boottime = ? WHERE number = ?"

  /// Number: marks it as running.
  static let setLeased: SQL = """
    UPDATE lane_heads SET state = 'leased', due_boottime = 0 WHERE number = ?
    """

  /// Number, limit: those after it that wait for a time.
  static let waiting: SQL = """
    SELECT number FROM lane_heads NOT INDEXED
    WHERE state = 'ready' AND due_boottime > 0 AND number > ? ORDER BY number LIMIT ?
    """
}

// MARK: - Heads

extension OutboxTransaction {
  /// Updates the heads after a row was inserted or changed.
  ///
  /// - Throws: `StorageError`.
  mutating func refreshHead(_ row: inout OutboxRow, isNew: Bool = false) throws {
    guard let lane = row.lane else {
      row.isHead = row.wantsHead
      if row.isHead {
        try self.writeHead(row, isNew: isNew)
      } else if !isNew {
        try self.connection.execute(LaneHeadRow.delete, row.number)
      }
      return
    }
    var head = try self.headNumber(of: lane)
    // A new one is lower than no other. One that has just run, or was dead, may be lower than one that runs.
    if head == row.number, !isNew { head = try self.runningNumber(of: lane) ?? head }
    if head == row.number {
      try self.writeHead(row, isNew: isNew)
      row.isHead = true
    } else {
      // It was the head until now, or another one still is.
      if row.isHead || head == nil { try self.findHead(of: lane, leftBy: row.number) }
      row.isHead = false
    }
  }

  /// Makes the first row of a lane its head, or one that runs.
  ///
  /// - Parameter last: The number of the row that was the head; nil: not known.
  /// - Throws: `StorageError`.
  mutating func findHead(of lane: String, leftBy last: Int64? = nil) throws {
    guard var number = try self.headNumber(of: lane) else {
      try self.connection.execute(LaneHeadRow.deleteOfLane, self.partition.id, lane)
      return
    }
    // Behind the last head either none runs, or the next does, in a batch: nothing to look for.
    if last.map({ number <= $0 }) ?? true { number = try self.runningNumber(of: lane) ?? number }
    guard let head = try self.row(number) else { return }
    try self.writeHead(head)
  }

  private func headNumber(of lane: String) throws -> Int64? {
    try self.connection.first(LaneHeadRow.find, self.partition.id, lane) {
      try $0.integer(at: 0)
    }
  }

  private func runningNumber(of lane: String) throws -> Int64? {
    try self.connection.first(LaneHeadRow.findRunning, self.partition.id, lane) {
      try $0.integer(at: 0)
    }
  }

  private func writeHead(_ row: OutboxRow, isNew: Bool = false) throws {
    let isPaused = row.lane.map { self.pauses[.lane($0)] != nil } ?? false
    let head = LaneHeadRow(row, self.now, isPaused: isPaused)
    try self.connection.insert(isNew: isNew, LaneHeadRow.insert, LaneHeadRow.write) { sql in
      try head.write(sql, of: row, on: self.connection)
    }
  }
}

extension SQLiteConnection {
  /// Inserts a row.
  ///
  /// - Parameters:
  ///   - isNew: Whether it should replace none. A statement that may replace rows keeps copies of
  ///     the pages that it changes.
  ///   - insert: Inserts it, and fails if it conflicts with another row.
  ///   - replace: Inserts it, replacing rows that conflict.
  /// - Throws: The closure's errors.
  func insert(
    isNew: Bool, _ insert: SQL, _ replace: SQL, by write: (SQL) throws -> Void
  ) throws {
    if isNew {
      do { return try write(insert) } catch StorageError.Code.constraint {}
    }
    try write(replace)
  }
}

extension MutationPriority: SQLiteColumn {
  package static func read(_ row: SQLiteStatement, at index: Int32) throws(StorageError) -> Self {
    Self(nearest: try row.integer(at: index))
  }

  package func bind(to statement: SQLiteStatement, at index: Int32) throws(StorageError) {
    try statement.bind(Int64(self.rawValue), at: index)
  }
}
