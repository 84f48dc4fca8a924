import CSQLite
import FoundationEssentials
import Query

/// A sound database in memory with the rows salvaged from a damaged one, so that they are read like
/// any other.
final class SalvageScratch {
  let connection: SQLiteConnection

  /// What existed and could not be read, each in a few words.
  private(set) var lost = [String]()

  private let scan: SalvageScan
  private var statements = [String: OpaquePointer]()

  /// Fills a database.
  ///
  /// - Parameters:
  ///   - scan: The rows that were found.
  ///   - connection: An empty database of the same level, which this object owns from now on.
  /// - Throws: `OpeningFailure`, `StorageError`.
  init(_ scan: SalvageScan, level connection: SQLiteConnection) throws {
    self.scan = scan
    self.connection = connection
    try self.connection.write { try self.fill() }
    for statement in self.statements.values { sqlite3_finalize(statement) }
    self.statements = [:]
  }

  deinit {
    for statement in self.statements.values { sqlite3_finalize(statement) }
    try? self.connection.close()
  }

  private func fill() throws {
    for table in ["history", "partitions", "aliases", "attempts", "dependencies", "salvages"] {
      // Rows that a tree leads to come first, and keep their place.
      for row in (self.scan.rows[table] ?? []).filter(\.isCertain) { try self.insert(row, table) }
      for row in (self.scan.rows[table] ?? []).filter({ !$0.isCertain }) {
        try self.insert(row, table)
      }
    }
    try self.fillFromIndexes()
    try self.fillOutbox()
    self.nameWhatIsLost()
  }

  /// Some tables can be filled from their indexes.
  private func fillFromIndexes() throws {
    for record in self.scan.records["dependencies"] ?? [] {
      try self.insert(record, into: "dependencies")
    }
    for record in self.scan.records["dependencies_by_target"] ?? [] {
      try self.insert(record.reversed(), into: "dependencies")
    }
    for table in ["forgotten", "pauses"] {
      for record in self.scan.records[table] ?? [] { try self.insert(record, into: table) }
    }
    for record in self.scan.records["sqlite_autoindex_partitions_1"] ?? [] {
      guard case .text(let name) = record[0], case .integer(let id) = record[1] else { continue }
      try self.connection.execute(Self.name, id, String(decoding: name, as: UTF8.self))
    }
  }

  private static let name: SQL = """
    INSERT INTO partitions (id, name) VALUES (?, ?) ON CONFLICT DO NOTHING
    """

  // MARK: - The outbox

  /// The history forgets those that ended long ago; what has succeeded stays so.
  private static let hasEnded: SQL = """
    SELECT 1 FROM history WHERE id = ?1 UNION ALL SELECT 1 FROM forgotten WHERE id = ?1
    """
  private static let removed: SQL = "DELETE FROM outbox WHERE number = ?"
  private static let applied: SQL = "UPDATE outbox SET maybe_applied = 1 WHERE number = ?"

  /// The newest state of each row that is as it was enqueued; then the damaged rows, which are
  /// dead.
  private func fillOutbox() throws {
    let rows = (self.scan.rows["outbox"] ?? []).enumerated().sorted { one, two in
      (one.element.order, one.element.isCertain ? 1 : 0, two.offset)
        > (two.element.order, two.element.isCertain ? 1 : 0, one.offset)
    }.map(\.element)
    var unsound = [SalvageScan.Row]()
    for row in rows {
      guard try self.isWanted(row), try self.insert(row, "outbox") else { continue }
      let found = try? self.connection.first(OutboxRow.read, row.rowID) { try OutboxRow($0) }
      if found?.isSound == true {
        // Its newest state may be lost.
        if !row.isCertain { try self.connection.execute(Self.applied, row.rowID) }
        continue
      }
      try self.connection.execute(Self.removed, row.rowID)
      if row.isCertain { unsound.append(row) }
    }
    for row in unsound where try self.isWanted(row) { try self.insert(row, "outbox") }
  }

  /// Whether a row that was found is not in the table yet and has not ended.
  private func isWanted(_ row: SalvageScan.Row) throws -> Bool {
    guard case .blob(let id) = row.values[2] else { return false }
    if !row.isCertain, let listed = self.listed, listed[id] == nil { return false }
    let data = Data(id)
    if try self.connection.first(Self.hasEnded, data, read: { _ in true }) == true { return false }
    return try self.connection.first(OutboxRow.hasID, data) { try $0.bool(at: 0) } != true
  }

  /// The indexes that have each row's ID in one of them.
  private static let indexesByID = ["outbox_by_id", "outbox_leased"]

  /// The number of each row by its ID, from the indexes; nil if they are not complete.
  private lazy var listed: [[UInt8]: Int64]? = {
    guard self.scan.wholeTrees.isSuperset(of: Self.indexesByID), self.scan.image.broken.isEmpty
    else { return nil }
    var numbers = [[UInt8]: Int64]()
    for record in Self.indexesByID.flatMap({ self.scan.records[$0] ?? [] }) {
      if case .blob(let id) = record[0], case .integer(let number)? = record.last {
        numbers[id] = number
      }
    }
    return numbers
  }()

  // MARK: - Inserting

  /// - Returns: Whether it was inserted: not if there is one like it, or the table rejects its
  ///   values.
  @discardableResult
  private func insert(_ row: SalvageScan.Row, _ table: String) throws -> Bool {
    var values = row.values
    let columns = self.scan.layout.trees[table]?.columns ?? []
    for (index, column) in columns.enumerated() where column.isRowID {
      values[index] = .integer(row.rowID)
    }
    return try self.insert(values, into: table)
  }

  @discardableResult
  private func insert(_ values: [StoredValue], into table: String) throws -> Bool {
    let handle = try self.connection.handle(for: "salvage")
    let statement = try self.statement(for: table, values.count, handle)
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() {
      try self.connection.check(value.bind(to: statement, at: Int32(index + 1)), "salvage")
    }
    switch sqlite3_step(statement) & 0xff {
    case SQLITE_DONE: return sqlite3_changes(handle) > 0
    case SQLITE_CONSTRAINT, SQLITE_MISMATCH: return false
    case let result:
      try self.connection.check(result, "salvage")
      return false
    }
  }

  /// The name and the number of columns come from the library's own schema.
  private func statement(
    for table: String, _ count: Int, _ handle: OpaquePointer
  ) throws -> OpaquePointer? {
    if let statement = self.statements[table] { return statement }
    let marks = Array(repeating: "?", count: count).joined(separator: ", ")
    var statement: OpaquePointer?
    let result = sqlite3_prepare_v2(
      handle, "INSERT OR IGNORE INTO \(table) VALUES (\(marks))", -1, &statement, nil)
    try self.connection.check(result, "salvage")
    self.statements[table] = statement
    return statement
  }
}

extension StoredValue {
  /// Binds the value; SQLite copies it.
  fileprivate func bind(to statement: OpaquePointer?, at index: Int32) -> Int32 {
    switch self {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let number): sqlite3_bind_int64(statement, index, number)
    case .real(let number): sqlite3_bind_double(statement, index, number)
    case .text(let bytes):
      bytes.isEmpty
        ? csqlite_bind_text(statement, index, "", 0)
        : bytes.withUnsafeBytes {
          csqlite_bind_text(
            statement, index, $0.assumingMemoryBound(to: CChar.self).baseAddress,
            UInt64($0.count))
        }
    case .blob(let bytes):
      bytes.isEmpty
        ? sqlite3_bind_zeroblob(statement, index, 0)
        : bytes.withUnsafeBytes {
          csqlite_bind_bytes(statement, index, $0.baseAddress, UInt64($0.count))
        }
    }
  }
}

// MARK: - Lost rows

extension SalvageScratch {
  private static let ids: SQL = "SELECT id FROM outbox UNION SELECT id FROM history"
  private static let counted: SQL = """
    SELECT coalesce(sum(pending_count + leased_count + dead_count), 0) FROM partitions
    """
  private static let count: SQL = "SELECT count(*) FROM outbox"
  private static let nameless: SQL = """
    SELECT count(*) FROM outbox WHERE partition NOT IN (SELECT id FROM partitions)
    """

  private func nameWhatIsLost() {
    if let listed = self.listed {
      let there = (try? self.connection.rows(Self.ids) { Array(try $0.data(at: 0)) }) ?? []
      let known = Set(there)
      let missing = listed.filter { !known.contains($0.key) }.map(\.value).sorted()
      self.lost += missing.map { "mutation \($0)" }
    } else if !self.scan.wholeTrees.contains("outbox") || !self.scan.image.broken.isEmpty {
      self.lost += self.wordsOfUnlisted()
    }
    if self.number(Self.nameless) != 0 { self.lost.append("names of accounts") }
    self.nameWhatIsLostOfTheRest()
    if self.scan.image.unreadable > 0 {
      self.lost.append("\(self.scan.image.unreadable) bytes that the disk does not give")
    }
  }

  /// The lost rows, if no index tells which rows there were.
  private func wordsOfUnlisted() -> [String] {
    guard self.scan.wholeTrees.contains("partitions"), self.scan.image.broken.isEmpty,
      let expected = self.number(Self.counted), let found = self.number(Self.count)
    else { return ["an unknown number of mutations"] }
    if expected <= found { return [] }
    return expected - found == 1 ? ["a mutation"] : ["\(expected - found) mutations"]
  }

  private func nameWhatIsLostOfTheRest() {
    let whole = self.scan.wholeTrees
    if !whole.contains("history") { self.lost += self.wordsOfEnded() }
    if !whole.contains("aliases") { self.lost.append("aliases") }
    if !whole.contains("dependencies"), !whole.contains("dependencies_by_target") {
      self.lost.append("dependencies")
    }
  }

  private func wordsOfEnded() -> [String] {
    guard self.scan.wholeTrees.contains("history_by_id") else {
      return ["an unknown number of ended mutations"]
    }
    let there = (try? self.connection.rows(Self.ids) { Array(try $0.data(at: 0)) }) ?? []
    let listed = (self.scan.records["history_by_id"] ?? []).compactMap { record -> [UInt8]? in
      if case .blob(let id) = record[0] { id } else { nil }
    }
    let count = Set(listed).subtracting(there).count
    return count == 0 ? [] : ["\(count) ended mutations"]
  }

  /// The places of `last_number` and `last_sequence` among the columns of `partitions`.
  private static let (lastNumber, lastSequence) = (12, 13)

  /// The highest number that was assigned, from the rows of accounts.
  var newestNumber: Int64 { self.newest(at: Self.lastNumber) }

  /// The highest sequence that an end was given, from the rows of accounts.
  var newestSequence: Int64 { self.newest(at: Self.lastSequence) }

  /// The numbers and sequences that rows may have: one far beyond those in use is a flipped bit.
  static let inUse = 0..<Int64(1) << 40

  private func newest(at column: Int) -> Int64 {
    let numbers = (self.scan.rows["partitions"] ?? []).compactMap { row -> Int64? in
      guard row.values.count > column, case .integer(let number) = row.values[column] else {
        return nil
      }
      return Self.inUse.contains(number) ? number : nil
    }
    return numbers.max() ?? 0
  }

  private func number(_ sql: SQL) -> Int64? {
    (try? self.connection.first(sql) { try $0.integer(at: 0) }) ?? nil
  }
}
