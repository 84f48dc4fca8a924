import FoundationEssentials
import Query

// MARK: - What the history forgets before the cache has it

extension OutboxTransaction {
  /// The successes of a mutation that can be pruned once every value includes their edits.
  struct EditsToCheck {
    let name: String
    let instance: String
    /// The newest of them.
    let last: Int64
  }

  /// Partition, the first and the last of them. Sequence, edited paths, effects.
  private static let remainsBetween: SQL = """
    SELECT sequence, edited_paths, effects FROM history NOT INDEXED
    WHERE partition = ? AND sequence BETWEEN ? AND ?
      AND (edited_paths IS NOT NULL OR effects IS NOT NULL) ORDER BY sequence
    """

  /// Partition: the row that stays longest. Sequence, effects.
  private static let newest: SQL = """
    SELECT sequence, effects FROM history NOT INDEXED WHERE partition = ?
    ORDER BY sequence DESC LIMIT 1
    """

  /// Effects, sequence.
  private static let setEffects: SQL = """
    UPDATE history SET effects = ?1, edited_paths = CASE WHEN ?2 THEN NULL ELSE edited_paths END
    WHERE sequence = ?3
    """

  /// Makes sure that the cache is told of rows about to be removed: their effects, and that values which lack
  /// their edits are to be fetched again. The newest row of the account stores that as its effects, so that
  /// it happens even if this process dies.
  ///
  /// - Parameter range: The first and the last row to go.
  /// - Returns: Whether all of them may go; false if that newest row is the only one, and must stay.
  /// - Throws: `StorageError`.
  mutating func handOnEffects(of range: ClosedRange<Int64>) throws -> Bool {
    let rows = try self.connection.rows(
      Self.remainsBetween, self.partition.id, range.lowerBound, range.upperBound
    ) { row in
      OutboxEffects.Remains(
        sequence: try row.integer(at: 0), editedPaths: try row.optionalText(at: 1),
        effects: try row.optionalText(at: 2))
    }
    if rows.isEmpty { return true }
    let newest = try self.connection.first(Self.newest, self.partition.id) {
      (sequence: try $0.integer(at: 0), effects: try $0.optionalText(at: 1))
    }
    guard let newest else { return true }
    let effects = OutboxEffects.adding(rows, to: newest.effects)
    let isOwn = range.contains(newest.sequence)
    try self.connection.execute(Self.setEffects, effects, isOwn, newest.sequence)
    self.outcome.hasEffects = true
    return !isOwn
  }
}

// MARK: - Whether every value has them

extension HistoryRow {
  /// Partition, name, instance, the newest sequence: edits that every value may include by now. Sequence,
  /// edited paths.
  fileprivate static let standingEdits: SQL = """
    SELECT sequence, edited_paths FROM history
    WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ? AND edited_paths IS NOT NULL
    ORDER BY sequence LIMIT 500
    """

  /// Sequence.
  fileprivate static let forgetEdits: SQL =
    "UPDATE history SET edited_paths = NULL WHERE sequence = ?"
}

extension OutboxWriter {
  /// Finds the edits that every stored value includes: their rows need not be kept.
  func check(_ edits: OutboxTransaction.EditsToCheck, of partition: OutboxPartition) {
    guard let connection = self.connection, let hooks = partition.hooks else { return }
    do {
      let rows = try connection.read {
        guard let row = try OutboxPartitionRow.find(partition.name, on: connection) else {
          return [StandingEdit]()
        }
        return try connection.rows(
          HistoryRow.standingEdits, row.id, edits.name, edits.instance, edits.last
        ) {
          StandingEdit(
            sequence: try $0.integer(at: 0), paths: EditedPaths(text: try $0.text(at: 1)))
        }
      }
      if rows.isEmpty { return }
      hooks.missing(rows) { [weak database] missing in
        // If the cache cannot be read now, the writer asks again later.
        guard let missing else { return }
        let left = Set(missing.map(\.sequence))
        let known = rows.map(\.sequence).filter { !left.contains($0) }
        database?.thread.perform { $0.forgetEdits(known) }
      }
    } catch {
      self.didFail(error)
    }
  }

  private func forgetEdits(_ sequences: [Int64]) {
    guard !sequences.isEmpty, let connection = self.connection else { return }
    do {
      try connection.write {
        for sequence in sequences { try connection.execute(HistoryRow.forgetEdits, sequence) }
      }
      self.didWrite(connection)
    } catch {
      self.didFail(error)
    }
  }
}

/// An acknowledged mutation, and the queries that its edits change.
struct StandingEdit: Sendable {
  let sequence: Int64
  let paths: EditedPaths
}

extension CacheDatabase {
  /// Partition, lowest identity, end, sequence: the entries whose value lacks what ended then.
  private static let older: SQL = """
    SELECT identity FROM entries INDEXED BY entries_by_identity
    WHERE partition = ?1 AND identity >= ?2 AND identity < ?3 AND outbox_sequence < ?4
    """

  /// Finds the edits that some stored value lacks.
  ///
  /// - Parameter completion: Called with these edits; with nil if the cache cannot be read now.
  func findMissing(
    _ edits: [StandingEdit], in partition: CachePartition,
    completion: @escaping @Sendable ([StandingEdit]?) -> Void
  ) {
    let isTaken = self.thread.perform { writer in
      completion(try? Self.missing(edits, in: partition.name, of: writer))
    }
    if !isTaken { completion(nil) }
  }

  private static func missing(
    _ edits: [StandingEdit], in partition: String, of writer: CacheWriter
  ) throws -> [StandingEdit]? {
    try writer.commitAll()
    guard let connection = writer.connection else { return nil }
    return try connection.read {
      let id = try connection.first(PartitionRow.readID, partition) { try $0.integer(at: 0) }
      guard let id else { return [] }
      // The newest edit of a query stands for all earlier ones.
      var newest = [EditedPaths: Int64]()
      for edit in edits { newest[edit.paths] = max(edit.sequence, newest[edit.paths] ?? 0) }
      var needed = Set<EditedPaths>()
      for (paths, sequence) in newest
      where try self.hasOlder(than: sequence, paths, in: id, on: connection) {
        needed.insert(paths)
      }
      return try edits.filter { edit in
        guard needed.contains(edit.paths) else { return false }
        return try self.hasOlder(than: edit.sequence, edit.paths, in: id, on: connection)
      }
    }
  }

  private static func hasOlder(
    than sequence: Int64, _ paths: EditedPaths, in partition: Int64,
    on connection: SQLiteConnection
  ) throws -> Bool {
    for range in paths.prefixes.flatMap(\.ranges) {
      let isFound = try connection.withStatement(Self.older) { row in
        try row.bindAll(partition, range.lower, range.upper, sequence)
        while try row.step() {
          if paths.covers(QueryIdentity(canonicalText: try row.text(at: 0))) { return true }
        }
        return false
      }
      if isFound { return true }
    }
    return false
  }
}
