package import FoundationEssentials
package import Query

/// A mutation that has ended.
package struct HistoryRow {
  /// Its entry, with what ``OutboxEntry/kept`` leaves.
  package var entry: OutboxEntry
  /// The word of its ``outcome``, which may be one of a later release.
  package var outcomeWord: String
  package var successor: UUID?
  /// Microseconds since 1970, as the other dates.
  package var createdAt: Int64
  package var startedAt: Int64?
  package var endedAt: Int64
  var effects: String?
  var result: Data?
  /// The stored checksum of a row that was read: if it does not match, no caller is shown the row.
  var keptChecksum: XXH128?

  /// The row of a mutation that ends now.
  init(_ row: OutboxRow, _ outcome: RecordedMutation.Outcome, endedAt: Int64) {
    self.entry = row.ended
    self.outcomeWord = outcome.rawValue
    self.createdAt = row.createdAt
    self.endedAt = endedAt
    // Any other end leaves nothing to show.
    if outcome != .succeeded { self.entry.editedPaths = nil }
  }

  /// A row that has no column yet.
  private init() {
    self.entry = .blank
    (self.outcomeWord, self.createdAt, self.endedAt) = ("", 0, 0)
  }

  var id: UUID { self.entry.id }

  var error: RestoredError? {
    get { self.entry.lastError }
    set { self.entry.lastError = newValue }
  }

  /// How it ended. Of a word of a later release all that is known is that it has ended.
  var outcome: RecordedMutation.Outcome {
    RecordedMutation.Outcome(rawValue: self.outcomeWord) ?? .discarded
  }

  /// The bytes that count against the limit.
  var byteCount: Int {
    let error = self.entry.lastError.map { $0.typeName.utf8.count + $0.text.utf8.count } ?? 0
    return self.entry.arguments.count + (self.result?.count ?? 0) + error
  }

  /// The checksum of the stored bytes, and of the mutation that they belong to.
  package static func checksum(id: UUID, number: Int64, arguments: Data, result: Data?) -> XXH128 {
    var bytes = HashedBytes(capacity: arguments.count + (result?.count ?? 0) + 24)
    bytes.append(arguments.count)
    bytes.append(" ")
    bytes.append(arguments)
    if let result { bytes.append(result) }
    return bytes.hash.adding(id).adding(number, as: .row)
  }

  /// The checksum of this row's bytes.
  private var ownChecksum: XXH128 {
    Self.checksum(
      id: self.entry.id, number: Int64(self.entry.number), arguments: self.entry.arguments,
      result: self.result)
  }

  /// Whether its bytes are those that were written.
  package var isSound: Bool { self.keptChecksum == self.ownChecksum }
}

// MARK: - Columns

extension HistoryRow {
  /// What a list of ended mutations shows.
  private mutating func listed(_ visitor: inout some ColumnVisitor) throws(StorageError) {
    try visitor.column("id", &self.entry.id)
    try visitor.column("number", &self.entry.number)
    try visitor.column("name", &self.entry.name)
    try visitor.column("instance", &self.entry.instance)
    try visitor.column("version", &self.entry.version)
    try visitor.column("lane", &self.entry.lane)
    try visitor.column("outcome", &self.outcomeWord)
    try visitor.column("successor", &self.successor)
    try visitor.column("attempts", &self.entry.attempts)
    try visitor.column("maybe_applied", &self.entry.maybeApplied)
    try visitor.column("created_at", &self.createdAt)
    try visitor.column("started_at", &self.startedAt)
    try visitor.column("ended_at", &self.endedAt)
    try visitor.error("error_type", "error_text", &self.entry.lastError)
  }

  /// All but the partition and the number of bytes.
  private mutating func columns(_ visitor: inout some ColumnVisitor) throws(StorageError) {
    try self.listed(&visitor)
    try visitor.column("idempotency_key", &self.entry.idempotencyKey)
    try visitor.column("effects", &self.effects)
    try visitor.column("edited_paths", &self.entry.editedPaths)
    try visitor.column("coder", &self.entry.coder)
    try visitor.column("checksum", &self.keptChecksum)
    try visitor.column("arguments", &self.entry.arguments)
    try visitor.column("result", &self.result)
  }

  /// The columns of ``init(listed:)``.
  package static let listedColumns = ColumnNames.of { (names) throws(StorageError) in
    var row = HistoryRow()
    try row.listed(&names)
  }

  /// The columns of ``init(_:)``.
  package static let allColumns = ColumnNames.of { (names) throws(StorageError) in
    var row = HistoryRow()
    try row.columns(&names)
  }

  /// Reads the columns of ``allColumns``, the first of a statement's.
  ///
  /// - Throws: `StorageError` (mismatch).
  package init(_ row: SQLiteStatement) throws {
    self.init()
    var reader = ColumnReader(row)
    try self.columns(&reader)
    self.entry.createdAt = Date(microsecondsSince1970: self.createdAt)
  }

  /// Reads the columns of ``listedColumns``, the first of a statement's. It has no bytes.
  ///
  /// - Throws: `StorageError` (mismatch).
  package init(listed row: SQLiteStatement) throws {
    self.init()
    var reader = ColumnReader(row)
    try self.listed(&reader)
    self.entry.createdAt = Date(microsecondsSince1970: self.createdAt)
  }
}

// MARK: - SQL

extension HistoryRow {
  private static let insert = SQL(
    assembling:
      "INSERT INTO history \((allColumns + ["partition", "byte_count", "sequence"]).values)")

  /// Partition, id.
  static let readByID = SQL(
    assembling: """
      SELECT \(allColumns.list), sequence FROM history WHERE partition = ? AND id = ?
      """)

  /// Partition, name, instance: the oldest first.
  static let readByName = SQL(
    assembling: """
      SELECT \(allColumns.list), sequence FROM history
      WHERE partition = ? AND name = ? AND instance = ? ORDER BY sequence DESC LIMIT ?
      """)

  /// Partition, name, instance, sequence: those that ended after it.
  static let readEndedAfter = SQL(
    assembling: """
      SELECT \(allColumns.list), sequence FROM history
      WHERE partition = ? AND name = ? AND instance = ? AND sequence > ? ORDER BY sequence
      """)

  /// Partition, sequence: what succeeded after it. Sequence, name, instance.
  static let successesAfter: SQL = """
    SELECT sequence, name, instance FROM history NOT INDEXED
    WHERE partition = ? AND sequence > ? AND outcome = 'succeeded' ORDER BY sequence
    """

  /// Partition, id.
  static let readOutcome: SQL = """
    SELECT outcome, successor FROM history WHERE partition = ? AND id = ?
    """

  /// Partition, lane, number: whether a later one has succeeded.
  static let hasSuccessBehind: SQL = """
    SELECT 1 FROM history WHERE partition = ? AND lane = ? AND number > ? AND outcome = 'succeeded'
    LIMIT 1
    """

  /// Partition: effects that the cache does not have yet. Sequence, effects.
  static let readEffects: SQL = """
    SELECT sequence, effects FROM history WHERE partition = ? AND effects IS NOT NULL
    ORDER BY sequence
    """

  /// Sequence.
  static let hasSequence: SQL = "SELECT 1 FROM history WHERE sequence = ?"

  /// Sequence, effects: those of a removed row may have been added to them since they were read.
  static let clearEffects: SQL =
    "UPDATE history SET effects = NULL WHERE sequence = ? AND effects = ?"

  /// Inserts the row.
  ///
  /// - Parameter sequence: Its place in the order of ends; nil: the last.
  /// - Throws: `StorageError`.
  func insert(
    partition: Int64, sequence: Int64? = nil, on connection: SQLiteConnection
  ) throws {
    var row = self
    row.keptChecksum = row.keptChecksum ?? row.ownChecksum
    try connection.withStatement(Self.insert) { statement in
      var binder = ColumnBinder(statement)
      try row.columns(&binder)
      try binder.bind(partition)
      try binder.bind(row.byteCount)
      try binder.bind(sequence)
      try statement.run()
    }
  }

  /// Reads a row of ``readByID``, ``readByName`` or ``readEndedAfter``.
  ///
  /// - Returns: nil if its bytes are not those that were written: no caller is shown a false
  ///   result.
  static func record(_ statement: SQLiteStatement) throws -> RecordedMutation? {
    var row = HistoryRow()
    var sequence: Int64 = 0
    var reader = ColumnReader(statement)
    try row.columns(&reader)
    try reader.column("sequence", &sequence)
    row.entry.createdAt = Date(microsecondsSince1970: row.createdAt)
    guard row.isSound else { return nil }
    return RecordedMutation(
      row.entry, row.outcome, result: row.result,
      endedAt: Date(microsecondsSince1970: row.endedAt), successor: row.successor,
      sequence: sequence)
  }
}
