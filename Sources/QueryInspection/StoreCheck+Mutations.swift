import FoundationEssentials
import Query
import QuerySQLite

// MARK: - The outbox

extension StoreCheck {
  /// Checks `mutations.sqlite`.
  func checkMutations() throws {
    let names = try self.store.mutationsFile.read { connection in
      try StoreInspection.partitions(self.partition, on: connection)
    }
    for (id, name) in names {
      try self.checkRows(of: id, name)
      try self.checkHistory(of: id, name)
      let findings = try self.store.mutationsFile.read { connection in
        // The account may have been erased since: then its rows go one after the other.
        guard try connection.first(Self.isAccount, id, read: { _ in true }) == true else {
          return [InspectionFinding]()
        }
        return try self.checkHeads(of: id, name, on: connection)
          + (try self.checkTotals(of: id, name, on: connection))
          + (try self.checkNewest(of: id, name, on: connection))
      }
      try self.report(findings)
    }
    try self.checkLeases(names)
  }

  /// Partition.
  private static let isAccount: SQL = "SELECT 1 FROM partitions WHERE id = ? AND is_erasing <> 2"

  private func finding(
    _ kind: InspectionFinding.Kind, _ partition: String, _ subject: String?, _ message: String
  ) -> InspectionFinding {
    InspectionFinding(
      kind: kind, file: DatabaseKind.mutations.fileName, partition: partition, subject: subject,
      message: message)
  }

  /// Partition, number, limit: the rows after it.
  private static let numbers: SQL = """
    SELECT number FROM outbox NOT INDEXED WHERE partition = ? AND number > ? ORDER BY number LIMIT ?
    """

  private func checkRows(of partition: Int64, _ name: String) throws {
    var (next, done) = (Int64?.some(0), 0)
    while let last = next {
      let chunk = try self.store.mutationsFile.read { connection in
        try self.checkRows(of: partition, name, after: last, on: connection)
      }
      try self.report(chunk.findings)
      done += chunk.count
      next = chunk.last
      try self.progress(InspectionProgress(step: "mutations", done: done, total: nil))
    }
  }

  private func checkRows(
    of partition: Int64, _ name: String, after last: Int64, on connection: SQLiteConnection
  ) throws -> Chunk {
    var chunk = Chunk()
    let numbers = try connection.rows(Self.numbers, partition, last, Self.rowsPerRead) {
      try $0.integer(at: 0)
    }
    for number in numbers {
      do {
        guard let row = try connection.first(OutboxRow.read, number, read: OutboxRow.init) else {
          continue
        }
        let subject = row.id.uuidString.lowercased()
        if !row.isSound {
          chunk.findings.append(
            self.finding(.wrongMutation, name, subject, "it is not what was enqueued"))
        }
        let missing = BodyNames.split(row.bodyFile).filter { !self.hasBody($0) }
        if !missing.isEmpty {
          let names = missing.map { "bodies/\($0)" }.joined(separator: ", ")
          chunk.findings.append(
            self.finding(.missingBody, name, subject, "its file \(names) is missing"))
        }
      } catch let error as StorageError where error.code == .mismatch {
        chunk.findings.append(
          self.finding(.unreadableRow, name, "mutation \(number)", error.message))
      }
    }
    chunk.count = numbers.count
    chunk.last = numbers.count < Self.rowsPerRead ? nil : numbers.last
    return chunk
  }

  private func hasBody(_ name: String) -> Bool {
    BodyNames.isPlain(name)
      && FileNumber(path: "\(self.store.mutationsFile.folder)/bodies/\(name)") != nil
  }
}

// MARK: - History

extension StoreCheck {
  /// Partition, sequence, limit.
  private static let history = SQL(
    assembling: """
      SELECT \(HistoryRow.allColumns.list), sequence FROM history
      WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?
      """)

  private func checkHistory(of partition: Int64, _ name: String) throws {
    var next: Int64? = 0
    while let last = next {
      let chunk = try self.store.mutationsFile.read { connection in
        var chunk = Chunk()
        try connection.withStatement(Self.history) { row in
          try row.bindAll(partition, last, Self.rowsPerRead)
          while try row.step() {
            chunk.count += 1
            chunk.last = try row.integer(at: Int32(HistoryRow.allColumns.names.count))
            if let finding = try self.check(ended: row, name) { chunk.findings.append(finding) }
          }
        }
        if chunk.count < Self.rowsPerRead { chunk.last = nil }
        return chunk
      }
      try self.report(chunk.findings)
      next = chunk.last
    }
  }

  private func check(ended row: SQLiteStatement, _ name: String) throws -> InspectionFinding? {
    do {
      if try HistoryRow(row).isSound { return nil }
      let id = try row.uuid(at: 0)
      return self.finding(
        .wrongMutation, name, id.uuidString.lowercased(),
        "what it ended with is not what was written")
    } catch let error as StorageError where error.code == .mismatch {
      return self.finding(.unreadableRow, name, "history", error.message)
    }
  }
}

// MARK: - Derived rows

extension StoreCheck {
  /// Partition: the heads that should exist. Number. A later row of a lane is its head while it runs, if the
  /// first one was retried meanwhile.
  private static let wantedHeads: SQL = """
    SELECT coalesce(
      (SELECT h.number FROM lane_heads AS h
        WHERE h.partition = ?1 AND h.lane = o.lane AND h.state = 'leased'),
      min(o.number))
    FROM outbox AS o NOT INDEXED
    WHERE o.partition = ?1 AND o.lane IS NOT NULL AND (o.state <> 'dead' OR o.on_failure = 'halt')
    GROUP BY o.lane
    UNION ALL
    SELECT number FROM outbox NOT INDEXED
    WHERE partition = ?1 AND lane IS NULL AND state = 'pending'
    ORDER BY 1
    """

  /// Partition: the heads that exist.
  private static let heads: SQL = """
    SELECT number FROM lane_heads WHERE partition = ? ORDER BY number
    """

  private func checkHeads(
    of partition: Int64, _ name: String, on connection: SQLiteConnection
  ) throws -> [InspectionFinding] {
    let wanted = Set(try connection.rows(Self.wantedHeads, partition) { try $0.integer(at: 0) })
    let heads = Set(try connection.rows(Self.heads, partition) { try $0.integer(at: 0) })
    var findings = [InspectionFinding]()
    for number in wanted.subtracting(heads).sorted().prefix(20) {
      findings.append(
        self.finding(
          .wrongHeads, name, "mutation \(number)", "it is first in its lane, and not known so"))
    }
    for number in heads.subtracting(wanted).sorted().prefix(20) {
      findings.append(
        self.finding(.wrongHeads, name, "mutation \(number)", "it is not first in its lane"))
    }
    return findings
  }

  /// Partition.
  private static let mutationTotals: SQL = """
    SELECT pending_count, leased_count, dead_count, history_count, history_bytes,
      (SELECT count(*) FROM outbox AS o WHERE o.partition = p.id AND o.state = 'pending'),
      (SELECT count(*) FROM outbox AS o WHERE o.partition = p.id AND o.state = 'leased'),
      (SELECT count(*) FROM outbox AS o WHERE o.partition = p.id AND o.state = 'dead'),
      (SELECT count(*) FROM history AS h WHERE h.partition = p.id),
      (SELECT coalesce(sum(byte_count), 0) FROM history AS h WHERE h.partition = p.id)
    FROM partitions AS p WHERE id = ?
    """

  private func checkTotals(
    of partition: Int64, _ name: String, on connection: SQLiteConnection
  ) throws -> [InspectionFinding] {
    let numbers = try connection.first(Self.mutationTotals, partition) { row in
      try (0..<10).map { try row.integer(at: $0) }
    }
    guard let numbers else { return [] }
    let words = ["pending", "leased", "dead", "ended mutations", "bytes of ended mutations"]
    return words.indices.filter { numbers[$0] != numbers[$0 + 5] }.map { index in
      self.finding(
        .wrongTotals, name, nil,
        "it counts \(numbers[index]) \(words[index]), and has \(numbers[index + 5])")
    }
  }

  /// Partition: the newest number and sequence that its rows were given.
  private static let newest: SQL = "SELECT last_number, last_sequence FROM partitions WHERE id = ?"

  /// What a storage takes for one that was given: it mends others when it opens the file.
  private static let possible: ClosedRange<Int64> = 0...(1 << 60)

  private func checkNewest(
    of partition: Int64, _ name: String, on connection: SQLiteConnection
  ) throws -> [InspectionFinding] {
    let numbers = try connection.first(Self.newest, partition) { row in
      [("number", try row.integer(at: 0)), ("sequence", try row.integer(at: 1))]
    }
    return (numbers ?? []).filter { !Self.possible.contains($0.1) }.map { word, number in
      self.finding(.wrongTotals, name, nil, "its newest \(word) is \(number), which is impossible")
    }
  }
}
