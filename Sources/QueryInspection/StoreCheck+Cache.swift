import FoundationEssentials
import Query
import QuerySQLite

// MARK: - Values

extension StoreCheck {
  /// Id, limit: the rows after it. Id, partition.
  private static let ids: SQL = """
    SELECT id, partition FROM entries NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?
    """
  private static let count: SQL = "SELECT count(*) FROM entries"

  /// Checks `cache.sqlite`.
  func checkCache() throws {
    let names = try self.store.cacheFile.read { connection in
      try StoreInspection.partitions(self.partition, on: connection)
    }
    let total = try self.store.cacheFile.read { connection in
      try connection.first(Self.count) { try $0.integer(at: 0) }
    }
    let known = Dictionary(names.map { ($0.id, $0.name) }) { first, _ in first }
    var (next, done) = (Int64?.some(.min), 0)
    while let last = next {
      let chunk = try self.store.cacheFile.read { connection in
        try self.checkEntries(after: last, known, on: connection)
      }
      try self.report(chunk.findings)
      done += chunk.count
      next = chunk.last
      try self.progress(
        InspectionProgress(step: "values", done: done, total: total.map { Int($0) }))
    }
    try self.checkOrphans()
    for (id, name) in names {
      try self.checkTotals(of: id, name)
      try self.checkMarks(of: id, name)
    }
  }

  /// The findings of some rows.
  struct Chunk {
    var findings = [InspectionFinding]()
    var count = 0
    /// The last row; nil: there are no more.
    var last: Int64?
  }

  private func checkEntries(
    after last: Int64, _ names: [Int64: String], on connection: SQLiteConnection
  ) throws -> Chunk {
    let rows = try connection.rows(Self.ids, last, Self.rowsPerRead) {
      (id: try $0.integer(at: 0), partition: try $0.integer(at: 1))
    }
    var chunk = Chunk()
    // Their values may be large: the transaction must stay short.
    let end = SuspendingClock.now + .milliseconds(500)
    for row in rows {
      if let name = names[row.partition] {
        chunk.findings += try self.check(entry: row.id, name, on: connection)
      }
      chunk.count += 1
      chunk.last = row.id
      if SuspendingClock.now > end { return chunk }
    }
    if rows.count < Self.rowsPerRead { chunk.last = nil }
    return chunk
  }

  private func check(
    entry id: Int64, _ partition: String, on connection: SQLiteConnection
  ) throws -> [InspectionFinding] {
    func finding(
      _ kind: InspectionFinding.Kind, _ subject: String, _ message: String
    ) -> InspectionFinding {
      InspectionFinding(
        kind: kind, file: DatabaseKind.cache.fileName, partition: partition, subject: subject,
        message: message)
    }
    do {
      guard let content = try EntryContent(id, on: connection) else {
        // Its number was read in the same transaction.
        return [finding(.unreadableRow, "row \(id)", "the row cannot be found again")]
      }
      return content.faults.map { finding($0.kind, content.hash.short, $0.message) }
    } catch let error as StorageError where error.code == .mismatch {
      return [finding(.unreadableRow, "row \(id)", error.message)]
    }
  }
}

// MARK: - Pages and totals

extension StoreCheck {
  private static let orphans: SQL = """
    SELECT entry, count(*) FROM pages WHERE entry NOT IN (SELECT id FROM entries) GROUP BY entry
    LIMIT 100
    """

  /// Partition. The totals of its rows, and the stored ones.
  private static let totals = SQL(
    assembling: """
      SELECT (SELECT count(*) FROM entries AS e NOT INDEXED WHERE e.partition = p.id),
        (SELECT coalesce(sum(e.byte_count), 0) FROM entries AS e NOT INDEXED
          WHERE e.partition = p.id),
        \(PartitionRow.totals)
      FROM \(PartitionRow.withNewest) WHERE p.id = ? AND p.is_erasing <> 2
      """)

  /// Looks for pages without an entry. They belong to no account.
  private func checkOrphans() throws {
    let orphans = try self.store.cacheFile.read { connection in
      try connection.rows(Self.orphans) { (try $0.integer(at: 0), try $0.integer(at: 1)) }
    }
    for (entry, count) in orphans {
      try self.report(
        .orphanPages, .cache, "\(count) pages of an entry that is not there, row \(entry)")
    }
  }

  private func checkTotals(of partition: Int64, _ name: String) throws {
    let totals = try self.store.cacheFile.read { connection in
      try connection.first(Self.totals, partition) { row in
        try (0..<4).map { try row.integer(at: $0) }
      }
    }
    guard let totals else { return }
    if totals[0] != totals[2] || totals[1] != totals[3] {
      try self.report(
        .wrongTotals, .cache,
        "it counts \(totals[2]) entries with \(totals[3]) bytes, and has \(totals[0]) with \(totals[1])",
        partition: name)
    }
  }
}

// MARK: - Marks

extension StoreCheck {
  /// Partition: the entries with a mark. Hash, mark, whether keys are included.
  private static let marks: SQL = """
    SELECT hash, outbox_sequence, included_keys IS NOT NULL FROM entries NOT INDEXED
    WHERE partition = ? AND (outbox_sequence IS NOT NULL OR included_keys IS NOT NULL)
    """

  /// Name.
  private static let lastSequence: SQL = "SELECT last_sequence FROM partitions WHERE name = ?"

  private struct Mark {
    let hash: InspectedHash
    let sequence: Int64?
  }

  /// Looks for values that claim to include more of the outbox's history than exists: mutations that end
  /// below that mark would never be laid over them.
  private func checkMarks(of partition: Int64, _ name: String) throws {
    let marks = try self.store.cacheFile.read { connection in
      try connection.rows(Self.marks, partition) { row in
        Mark(hash: InspectedHash(try row.hash(at: 0)), sequence: try row.optionalInteger(at: 1))
      }
    }
    // Read after the values, since it only grows. Without an outbox there is nothing to compare with.
    guard !marks.isEmpty, try self.store.file(.mutations).exists else { return }
    let last: Int64
    do {
      last =
        try self.store.mutationsFile.read { connection in
          try connection.first(Self.lastSequence, name) { try $0.integer(at: 0) }
        } ?? 0
    } catch {
      // The check of the outbox's file reports what is wrong with it.
      return
    }
    for mark in marks {
      if let sequence = mark.sequence, sequence >= 0 && sequence <= last { continue }
      let message =
        switch mark.sequence {
        case nil: "it has keys of mutations, and no mark"
        case let sequence?:
          "it has the mutations that ended up to \(sequence), of \(last) that have ended"
        }
      try self.report(
        .wrongMark, .cache, message, partition: name, subject: mark.hash.short)
    }
  }
}
