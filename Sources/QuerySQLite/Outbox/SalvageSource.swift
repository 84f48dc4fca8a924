import FoundationEssentials
import Glibc
import Query

/// The rows salvaged from a damaged outbox.
final class SalvageSource {
  private let connection: SQLiteConnection

  /// What could not be read, in words.
  private(set) var lost: [String]

  private let scratch: SalvageScratch?

  /// Reads a damaged outbox that was set aside.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - opener: The opener with the migrations that made it.
  /// - Throws: `OpeningFailure`, `StorageError`.
  convenience init(path: String, _ opener: DatabaseOpener) throws {
    try self.init(try DatabaseImage(path: path), opener)
  }

  init(_ found: DatabaseImage, _ opener: DatabaseOpener) throws {
    let layout = try SalvageLayout(opener.migrations)
    // Another outbox sends its own mutations.
    let isForeign = found.hasForeignLog(layout)
    let image = isForeign ? found.withoutLog : found
    let scan = SalvageScan(image, layout)
    let scratch = try SalvageScratch(scan, level: try SQLiteConnection.inMemory(opener.migrations))
    self.scratch = scratch
    self.connection = scratch.connection
    self.lost = scratch.lost + (isForeign ? ["what its own log had"] : [])
  }
}

// MARK: - Mutations

extension SalvageSource {
  private static let numbers: SQL = "SELECT number FROM outbox ORDER BY number"

  /// A number far beyond those in use is a flipped bit.
  private static let newest: SQL = """
    SELECT max(
      coalesce((SELECT max(number) FROM outbox), 0), coalesce((SELECT max(number) FROM history), 0),
      coalesce((SELECT max(newest_number) FROM aliases WHERE newest_number < 1 << 40), 0))
    """

  /// The highest number ever assigned, as far as it is known.
  func newestNumber() throws -> Int64 {
    let seen = try self.connection.first(Self.newest) { try $0.integer(at: 0) } ?? 0
    return max(seen, self.scratch?.newestNumber ?? 0)
  }

  /// A sequence far beyond those in use is a flipped bit, too.
  private static let newestEnd: SQL = """
    SELECT max(
      coalesce((SELECT max(sequence) FROM history WHERE sequence < 1 << 40), 0),
      coalesce((SELECT max(sequence) FROM forgotten WHERE sequence < 1 << 40), 0))
    """

  /// The highest sequence that any end was given, as far as it is known.
  func newestSequence() throws -> Int64 {
    let seen = try self.connection.first(Self.newestEnd) { try $0.integer(at: 0) } ?? 0
    return max(seen, self.scratch?.newestSequence ?? 0)
  }

  /// All readable live and dead rows, in order.
  func outboxRows() throws -> [OutboxRow] {
    var rows = [OutboxRow]()
    for number in try self.connection.rows(Self.numbers, read: { try $0.integer(at: 0) }) {
      do {
        if let row = try self.connection.first(OutboxRow.read, number, read: OutboxRow.init) {
          rows.append(row)
        }
      } catch {
        self.lost.append("mutation \(number)")
      }
    }
    return rows
  }

  private static let edges: SQL = "SELECT dependant, target FROM dependencies"

  /// Which rows depend on which.
  func dependencies() throws -> [(dependant: Int64, target: Int64)] {
    try self.connection.rows(Self.edges) {
      (dependant: try $0.integer(at: 0), target: try $0.integer(at: 1))
    }
  }
}

// MARK: - The rest

extension SalvageSource {
  private static let partitions: SQL = "SELECT id, name FROM partitions"
  private static let paused: SQL = "SELECT id, paused_at FROM partitions WHERE paused_at NOTNULL"
  private static let aliases: SQL = """
    SELECT partition, alias, value, publisher, published_at, newest_number FROM aliases
    """
  private static let epochsOfPartitions: SQL = "SELECT id, epoch FROM partitions WHERE epoch > 0"
  /// The columns of a row, its partition and its sequence.
  private static let history = SQL(
    assembling: """
      SELECT \(HistoryRow.allColumns.list), partition, sequence FROM history ORDER BY sequence
      """)
  private static let salvages: SQL = "SELECT name, salvaged_at, is_whole FROM salvages"

  /// The names of accounts, by number.
  func partitionNames() throws -> [Int64: String] {
    let found = try self.connection.rows(Self.partitions) {
      (try $0.integer(at: 0), try $0.text(at: 1))
    }
    return Dictionary(found) { first, _ in first }
  }

  /// How often rows of accounts were erased, by the accounts' numbers.
  func epochs() throws -> [(partition: Int64, epoch: Int64)] {
    try self.readable(Self.epochsOfPartitions) { row in
      (partition: try row.integer(at: 0), epoch: try row.integer(at: 1))
    }
  }

  /// The paused accounts.
  func pausedPartitions() throws -> [Int64: Int64] {
    let found = try self.connection.rows(Self.paused) {
      (try $0.integer(at: 0), try $0.integer(at: 1))
    }
    return Dictionary(found) { first, _ in first }
  }

  /// A pause of a lane, a name or a host: the columns of ``PauseRow/insert``.
  struct Pause {
    let partition: Int64
    let part: String
    let value: String
    let pausedAt: Int64
  }

  private static let pauses: SQL = "SELECT partition, part, value, paused_at FROM pauses"

  func pauses() throws -> [Pause] {
    try self.readable(Self.pauses) { row in
      Pause(
        partition: try row.integer(at: 0), part: try row.text(at: 1), value: try row.text(at: 2),
        pausedAt: try row.integer(at: 3))
    }
  }

  /// A published alias.
  struct Alias {
    let partition: Int64
    let alias: String
    let value: String
    let publisher: UUID
    let publishedAt: Int64
    let newestNumber: Int64
  }

  func publishedAliases() throws -> [Alias] {
    try self.readable(Self.aliases) { row in
      Alias(
        partition: try row.integer(at: 0), alias: try row.text(at: 1), value: try row.text(at: 2),
        publisher: try row.uuid(at: 3), publishedAt: try row.integer(at: 4),
        newestNumber: try row.integer(at: 5))
    }
  }

  /// A mutation that the history has forgotten: the columns of ``ForgottenRow/salvage``.
  struct Forgotten {
    let id: UUID
    let partition: Int64
    let sequence: Int64
    let outcome: String
    let successor: UUID?
    let endedAt: Int64
  }

  private static let forgotten: SQL = """
    SELECT id, partition, sequence, outcome, successor, ended_at FROM forgotten
    """

  func forgottenRows() throws -> [Forgotten] {
    try self.readable(Self.forgotten) { row in
      Forgotten(
        id: try row.uuid(at: 0), partition: try row.integer(at: 1),
        sequence: try row.integer(at: 2), outcome: try row.text(at: 3),
        successor: row.isNull(at: 4) ? nil : try row.uuid(at: 4),
        endedAt: try row.integer(at: 5))
    }
  }

  /// The ended mutations, in the order of their ends.
  func endedRows() throws -> [(partition: Int64, sequence: Int64, row: HistoryRow)] {
    let count = Int32(HistoryRow.allColumns.names.count)
    return try self.readable(Self.history) { row in
      (
        partition: try row.integer(at: count), sequence: try row.integer(at: count + 1),
        row: try HistoryRow(row)
      )
    }
  }

  /// An attempt: the columns of ``AttemptRow/salvage``.
  struct Attempt {
    let mutation: UUID
    let number: Int64
    let owner: String
    let startedAt: Int64
    let endedAt: Int64?
    let outcome: String?
    let code: Int64?
    let error: RestoredError?
    let key: String?
    let arguments: Data?
    let response: Data?
  }

  private static let attempts: SQL = """
    SELECT mutation, number, owner, started_at, ended_at, class, code, error_type, error_text,
      idempotency_key, arguments, response
    FROM attempts ORDER BY id
    """

  /// The attempts that did not succeed.
  func attempts() throws -> [Attempt] {
    try self.readable(Self.attempts) { row in
      Attempt(
        mutation: try row.uuid(at: 0), number: try row.integer(at: 1), owner: try row.text(at: 2),
        startedAt: try row.integer(at: 3), endedAt: try row.optionalInteger(at: 4),
        outcome: try row.optionalText(at: 5), code: try row.optionalInteger(at: 6),
        error: try row.optionalError(at: 7), key: try row.optionalText(at: 9),
        arguments: try row.optionalData(at: 10), response: try row.optionalData(at: 11))
    }
  }

  /// The salvages that were made into the damaged file before.
  func salvages() throws -> [SalvageRow] {
    try self.readable(Self.salvages) { row in
      SalvageRow(
        name: try row.text(at: 0), salvagedAt: try row.integer(at: 1),
        isWhole: try row.bool(at: 2))
    }
  }

  /// The rows whose columns have the types that they should.
  private func readable<Row>(_ sql: SQL, _ read: (SQLiteStatement) throws -> Row) throws -> [Row] {
    try self.connection.rows(sql) { row in try? read(row) }.compactMap { $0 }
  }
}
