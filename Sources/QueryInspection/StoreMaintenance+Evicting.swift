package import FoundationEssentials
import Query
import QuerySQLite

// MARK: - Evicting

extension StoreMaintenance {
  /// How many entries one transaction removes.
  package static let batch = 200

  /// The result of an eviction.
  package struct Evicted: Hashable, Sendable {
    /// How many entries were removed.
    package var entries = 0
    /// How many bytes they had.
    package var byteCount = 0
  }

  /// Removes entries, the least recently used first, until an account has no more than this. Pinned
  /// entries stay, and those of packs. Those whose stores are alive in an application go too: the application writes
  /// them again with their next change.
  ///
  /// - Parameters:
  ///   - bytes: How many bytes may stay; nil: any.
  ///   - entries: How many entries may stay; nil: any.
  ///   - partition: The account; nil: each.
  ///   - stepRows: How many entries one transaction removes, if it has the time.
  /// - Throws: `InspectionError`.
  package func evict(
    toBytes bytes: Int?, entries: Int?, in partition: String? = nil, now: Date = Date(),
    stepRows: Int = StoreMaintenance.batch
  ) throws(InspectionError) -> Evicted {
    let limits = CacheLimits(entries: entries ?? .max, bytes: bytes ?? .max)
    return try self.withWriter(.cache) { connection in
      var evicted = Evicted()
      for (_, account) in try self.accounts(in: partition, on: connection) {
        var cursor = EvictionCursor()
        var hasMore = true
        while hasMore {
          hasMore = try self.write(account: account, on: connection) { changes in
            let before = changes.totals
            let eviction = try changes.evict(
              StepBudget(rows: stepRows), limits: limits, now: now, from: &cursor,
              keeping: { _ in false })
            evicted.entries += before.entries - changes.totals.entries
            evicted.byteCount += before.bytes - changes.totals.bytes
            return eviction.hasMore
          }
          if hasMore { connection.letOthersWrite() }
        }
      }
      try CacheTables(partition: 0, on: connection).vacuumInSteps()
      return evicted
    }
  }

  /// Partition, date, id, limit: entries after that row whose newest result is older. Id, byte
  /// count.
  private static let older = SQL(
    assembling: """
      SELECT e.id, e.byte_count FROM entries AS e NOT INDEXED \(ConfirmationRow.ofEntry)
      WHERE e.partition = ? AND NOT \(EntryRow.isKept)
        AND max(coalesce(\(ConfirmationRow.updatedAt), e.error_updated_at, 0),
          coalesce(e.error_updated_at, \(ConfirmationRow.updatedAt), 0)) < ?
        AND e.id > ?
      ORDER BY e.id LIMIT ?
      """)

  /// Removes entries whose value and error are from before a time. Pinned entries, and those of packs,
  /// stay.
  ///
  /// - Parameters:
  ///   - date: Microseconds since 1970.
  ///   - partition: The account; nil: each.
  /// - Throws: `InspectionError`.
  package func evict(
    olderThan date: Int64, in partition: String? = nil
  ) throws(InspectionError) -> Evicted {
    try self.withWriter(.cache) { connection in
      var evicted = Evicted()
      for (_, account) in try self.accounts(in: partition, on: connection) {
        var next: Int64? = .min
        while let last = next {
          next = try self.write(account: account, on: connection) { changes in
            let rows = try connection.rows(
              Self.older, changes.partition, date, last, Self.batch
            ) { (id: try $0.integer(at: 0), bytes: Int(try $0.amount(at: 1))) }
            let budget = StepBudget(rows: Self.batch)
            for (index, row) in rows.enumerated() {
              if budget.isSpent(after: index) { return rows[index - 1].id }
              try changes.removeRow(row.id, bytes: row.bytes)
              evicted.entries += 1
              evicted.byteCount += row.bytes
            }
            return rows.count < Self.batch ? nil : rows.last?.id
          }
          if next != nil { connection.letOthersWrite() }
        }
      }
      try CacheTables(partition: 0, on: connection).vacuumInSteps()
      return evicted
    }
  }
}

// MARK: - Room

extension StoreMaintenance {
  /// Gives free pages of the cache's file back to the file system. The file becomes shorter with
  /// the next checkpoint: at once if no application has it open.
  ///
  /// - Returns: How many pages it has freed.
  /// - Throws: `InspectionError`.
  package func vacuum() throws(InspectionError) -> Int {
    try self.withWriter(.cache) { try CacheTables(partition: 0, on: $0).vacuumInSteps() }
  }
}

// MARK: - Quarantine

extension StoreMaintenance {
  /// Partition or NULL, id or NULL, limit.
  private static let drop: SQL = """
    DELETE FROM quarantine WHERE id IN (
      SELECT id FROM quarantine WHERE (?1 IS NULL OR partition = ?1) AND (?2 IS NULL OR id = ?2)
      LIMIT ?3)
    """

  /// How many rows of the quarantine one transaction deletes: some are large.
  private static let dropped = 20

  /// Deletes quarantined rows.
  ///
  /// - Parameters:
  ///   - id: The number of a row; nil: all.
  ///   - partition: The account; nil: each.
  /// - Returns: How many rows were deleted.
  /// - Throws: `InspectionError`: not found if there is no such row, and the errors of writing.
  package func dropQuarantine(
    _ id: Int64?, in partition: String? = nil
  ) throws(InspectionError) -> Int {
    try self.withWriter(.cache) { connection in
      let all = try self.accounts(in: partition, on: connection)
      let wanted = partition == nil ? nil : all.first?.id
      var (count, step) = (0, Self.dropped)
      while step == Self.dropped {
        if count > 0 { connection.letOthersWrite() }
        step = try connection.write {
          try connection.execute(Self.drop, wanted, id, Self.dropped)
          return try connection.changes
        }
        count += step
      }
      if let id, count == 0 { throw InspectionError.notFound("row \(id) in quarantine") }
      return count
    }
  }
}
