import Foundation
import Query

/// Reads what can be read of a damaged outbox: forwards, backwards, by the indexes, and one by one.
///
/// A statement that finds damage is not asked for more; what another one finds is added to it.
final class SalvageSource {
  private let connection: SQLiteConnection

  /// What could not be read, in words.
  private(set) var lost = [String]()

  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// As many rows as a statement hands out before it fails.
  private func readable<Row, each Value: SQLiteBindable>(
    _ sql: SQL,
    _ values: repeat each Value,
    read: (SQLiteStatement) throws -> Row
  ) -> (rows: [Row], isWhole: Bool) {
    var rows = [Row]()
    do {
      try self.connection.withStatement(sql) { statement in
        try statement.bindAll(repeat each values)
        while try statement.step() { rows.append(try read(statement)) }
      }
      return (rows, true)
    } catch {
      return (rows, false)
    }
  }
}

// MARK: - Mutations

extension SalvageSource {
  private static let forwards: SQL = "SELECT number FROM outbox NOT INDEXED ORDER BY number"
  private static let backwards: SQL = "SELECT number FROM outbox NOT INDEXED ORDER BY number DESC"
  private static let byID: SQL = "SELECT number FROM outbox INDEXED BY outbox_by_id ORDER BY id"
  private static let byName: SQL = """
    SELECT number FROM outbox INDEXED BY outbox_by_name ORDER BY partition, name, instance, number
    """
  private static let newest: SQL = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"

  /// So many numbers between those that were found are tried one by one.
  private static let maximumGap: Int64 = 100_000

  /// The highest number there ever was, as far as it is known.
  func newestNumber() -> Int64 {
    self.readable(Self.newest, read: { try $0.integer(at: 0) }).rows.first ?? 0
  }

  /// All live and dead rows that can be read, in their order.
  func outboxRows() -> [OutboxRow] {
    var numbers = Set<Int64>()
    var isWhole = true
    for sql in [Self.forwards, Self.backwards, Self.byID, Self.byName] {
      let found = self.readable(sql) { try $0.integer(at: 0) }
      numbers.formUnion(found.rows)
      isWhole = isWhole && found.isWhole
    }
    if !isWhole {
      // Which numbers there are cannot be told: all that may be are asked for.
      let last = max(self.newestNumber(), numbers.max() ?? 0)
      numbers.formUnion(max(1, last - Self.maximumGap)...max(1, last))
    }
    var rows = [OutboxRow]()
    for number in numbers.sorted() {
      let found = self.readable(OutboxRow.read, number) { try OutboxRow($0) }
      if let row = found.rows.first {
        rows.append(row)
      } else if !found.isWhole {
        self.lost.append("mutation \(number)")
      }
    }
    return rows
  }

  private static let edges: SQL = "SELECT dependant, target FROM dependencies"

  /// Which rows depend on which.
  func dependencies() -> [(dependant: Int64, target: Int64)] {
    let found = self.readable(Self.edges) {
      (dependant: try $0.integer(at: 0), target: try $0.integer(at: 1))
    }
    if !found.isWhole { self.lost.append("dependencies") }
    return found.rows
  }
}

// MARK: - The rest

extension SalvageSource {
  private static let partitions: SQL = "SELECT id, name FROM partitions"
  private static let paused: SQL = "SELECT id, paused_at FROM partitions WHERE paused_at NOTNULL"
  private static let aliases: SQL = """
    SELECT partition, alias, value, publisher, published_at, newest_number FROM aliases
    """
  private static let history: SQL = """
    SELECT partition, id, outcome, successor, number, idempotency_key, name, instance, version, lane,
      attempts, maybe_applied, created_at, started_at, ended_at, error_type, error_text, effects,
      coder, arguments, result
    FROM history ORDER BY sequence
    """

  /// The names of accounts, by number.
  func partitionNames() -> [Int64: String] {
    let found = self.readable(Self.partitions) {
      (id: try $0.integer(at: 0), name: try $0.text(at: 1))
    }
    if !found.isWhole { self.lost.append("names of accounts") }
    return Dictionary(found.rows.map { ($0.id, $0.name) }) { first, _ in first }
  }

  /// Accounts that were paused.
  func pausedPartitions() -> [Int64: Int64] {
    let found = self.readable(Self.paused) {
      (id: try $0.integer(at: 0), date: try $0.integer(at: 1))
    }
    return Dictionary(found.rows.map { ($0.id, $0.date) }) { first, _ in first }
  }

  /// An alias that was published.
  struct Alias {
    let partition: Int64
    let alias: String
    let value: String
    let publisher: UUID
    let publishedAt: Int64
    let newestNumber: Int64
  }

  func publishedAliases() -> [Alias] {
    let found = self.readable(Self.aliases) { row in
      Alias(
        partition: try row.integer(at: 0), alias: try row.text(at: 1), value: try row.text(at: 2),
        publisher: try row.uuid(at: 3), publishedAt: try row.integer(at: 4),
        newestNumber: try row.integer(at: 5))
    }
    if !found.isWhole { self.lost.append("aliases") }
    return found.rows
  }

  /// Mutations that ended.
  func endedRows() -> [(partition: Int64, row: HistoryRow)] {
    let found = self.readable(Self.history) { row in
      (partition: try row.integer(at: 0), row: try HistoryRow(salvaged: row))
    }
    if !found.isWhole { self.lost.append("history after \(found.rows.count) ended mutations") }
    return found.rows
  }
}

extension HistoryRow {
  fileprivate init(salvaged row: SQLiteStatement) throws {
    self.id = try row.uuid(at: 1)
    self.outcome = RecordedMutation.Outcome(rawValue: try row.text(at: 2)) ?? .discarded
    self.successor = row.isNull(at: 3) ? nil : try row.uuid(at: 3)
    self.number = try row.integer(at: 4)
    self.idempotencyKey = try row.text(at: 5)
    self.name = try row.text(at: 6)
    self.instance = try row.text(at: 7)
    self.version = Int(try row.integer(at: 8))
    self.lane = try row.optionalText(at: 9)
    self.attempts = Int(try row.integer(at: 10))
    self.maybeApplied = try row.bool(at: 11)
    self.createdAt = try row.integer(at: 12)
    self.startedAt = try row.optionalInteger(at: 13)
    self.endedAt = try row.integer(at: 14)
    self.error = try row.optionalError(at: 15)
    self.effects = try row.optionalText(at: 17)
    self.coder = try row.text(at: 18)
    self.arguments = try row.data(at: 19)
    self.result = try row.optionalData(at: 20)
  }
}
