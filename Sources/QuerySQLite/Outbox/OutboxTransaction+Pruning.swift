import FoundationEssentials
import Query

// MARK: - History

extension OutboxTransaction {
  /// A row of the history to remove.
  private struct Doomed {
    let sequence: Int64
    let bytes: Int64

    init(_ row: SQLiteStatement) throws {
      self.sequence = try row.integer(at: 0)
      self.bytes = try row.integer(at: 1)
    }
  }

  /// The most rows that the end of another mutation removes; the rest is left to separate transactions.
  static let prunedAtOnce = 64

  /// The most bytes that it removes: SQLite visits each page of a deleted row.
  private static let prunedBytesAtOnce = 1 << 20

  /// How many rows of a mutation may exceed the limit until they are removed together. No caller
  /// sees them.
  private static let pruningBatch = 16

  /// Partition, name, instance, how many are kept: the newest one to remove.
  static let beyondCount: SQL = """
    SELECT sequence FROM history
    WHERE partition = ? AND name = ? AND instance = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?
    """

  /// Partition, name, instance, the newest one to remove, limit: those up to it, the oldest first.
  static let oldestOfMutation: SQL = """
    SELECT sequence, ended_at, edited_paths IS NOT NULL FROM history
    WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ? ORDER BY sequence LIMIT ?
    """

  /// Partition, name, instance, the newest one to remove: how many rows and bytes are removed.
  static let countUpTo: SQL = """
    SELECT count(*), coalesce(sum(min(max(byte_count, 0), 1099511627776)), 0) FROM history
    WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ?
    """

  /// Partition, name, instance, the newest one to remove.
  static let deleteAttemptsUpTo: SQL = """
    DELETE FROM attempts WHERE mutation IN (
      SELECT id FROM history
      WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ?)
    """

  /// Partition, name, instance, the newest one to remove.
  static let deleteUpTo: SQL = """
    DELETE FROM history WHERE partition = ? AND name = ? AND instance = ? AND sequence <= ?
    """

  /// Partition, name, instance, the maximum to count.
  private static let countOfMutation: SQL = """
    SELECT count(*) FROM (
      SELECT 1 FROM history WHERE partition = ? AND name = ? AND instance = ? LIMIT ?)
    """

  /// Partition, sequence, limit: those after it, the oldest first. In the order of the table: an
  /// index would need sorting.
  static let oldest: SQL = """
    SELECT sequence, byte_count FROM history NOT INDEXED WHERE partition = ? AND sequence > ?
    ORDER BY sequence LIMIT ?
    """

  /// Partition, sequence, date, limit: those of the first ones after it that ended before the date. The
  /// order of ends is that of dates, but for a clock that was wrong: some rows too new are passed.
  static let before: SQL = """
    SELECT sequence, byte_count FROM (
      SELECT sequence, byte_count, ended_at FROM history NOT INDEXED
      WHERE partition = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?4)
    WHERE ended_at < ?3
    """

  /// Partition, name, instance, limit.
  static let ofMutation: SQL = """
    SELECT sequence, byte_count FROM history INDEXED BY history_by_name
    WHERE partition = ? AND name = ? AND instance = ? ORDER BY sequence LIMIT ?
    """

  /// Partition, the first and the last to remove. All of the partition's rows between them are
  /// removed.
  static let deleteAttemptsBetween: SQL = """
    DELETE FROM attempts WHERE mutation IN (
      SELECT id FROM history NOT INDEXED WHERE partition = ? AND sequence BETWEEN ? AND ?)
    """

  /// Partition, the first and the last to remove.
  static let deleteBetween: SQL = """
    DELETE FROM history NOT INDEXED WHERE partition = ? AND sequence BETWEEN ? AND ?
    """

  /// Sequence.
  private static let delete: SQL = "DELETE FROM history WHERE sequence = ?"

  /// Sequence.
  private static let deleteAttempts: SQL = """
    DELETE FROM attempts WHERE mutation = (SELECT id FROM history WHERE sequence = ?)
    """

  /// Sequence. The mutation's own instance is never empty.
  private static let withdraw: SQL = "UPDATE history SET instance = '' WHERE sequence = ?"

  /// Removes the rows beyond the limits. Live and dead rows are not history.
  ///
  /// - Throws: `StorageError`.
  mutating func pruneHistory(of name: String, instance: String) throws {
    let limits = self.terms.limits
    if limits.perMutation > 0 {
      // Several at a time: the old rows are adjacent, and those that end now are stored elsewhere.
      let tolerated = limits.perMutation + Self.slack(of: limits.perMutation)
      let count = try self.historyCount(of: name, instance: instance, limit: tolerated + 1)
      let isSurplus = count.number > tolerated && self.nowAt >= count.isRecentUntil
      self.memory.historyCount =
        isSurplus ? try self.deleteHistory(of: name, instance: instance, count) : count
    }
    if self.terms.isHistoryAgeDue && !self.outcome.hasPrunedByAge {
      try self.pruneOldHistory(.rows(Self.prunedAtOnce))
    } else if limits.days > 0, self.now.isSynchronised, !self.memory.isFreeOfAliases {
      // The row that has ended may have been the last one that could need an alias.
      let date = self.nowAt.clampedDifference(Int64(limits.days) * 86_400_000_000)
      _ = try self.pruneAliases(before: date, atMost: Self.prunedAtOnce)
    }
    try self.pruneOldest()
  }

  /// For how long no other check is made of the edits of the mutation that ended last, in microseconds.
  private static let pauseOfChecks: Int64 = 60_000_000

  private static func slack(of limit: Int) -> Int { min(limit / 4, Self.pruningBatch) }

  /// Removes the oldest rows of a mutation's history that are not recent: most ends remove some, so one
  /// statement removes them all. After a limit was lowered there are many, and each end removes some of
  /// them.
  ///
  /// - Returns: What is known of the rows that are left.
  private mutating func deleteHistory(
    of name: String, instance: String, _ count: OutboxMemory.HistoryCount
  ) throws -> OutboxMemory.HistoryCount? {
    let id = self.partition.id
    let kept = self.terms.limits.perMutation
    let last = try self.connection.first(Self.beyondCount, id, name, instance, kept) {
      try $0.integer(at: 0)
    }
    guard let last else { return nil }
    let limit = self.nowAt.clampedDifference(MutationHistoryLimits.recent)
    let oldest = try self.connection.rows(
      Self.oldestOfMutation, id, name, instance, last, Self.prunedAtOnce
    ) {
      (
        sequence: try $0.integer(at: 0), endedAt: try $0.integer(at: 1),
        isShown: try $0.bool(at: 2)
      )
    }
    let old = oldest.prefix { $0.endedAt <= limit && !$0.isShown }
    var rest = count
    if oldest.count > old.count, oldest[old.count].endedAt <= limit {
      // An edit stays until every value includes it, which the writer checks after this commit.
      self.outcome.editsToCheck = .init(name: name, instance: instance, last: last)
      rest.isRecentUntil = self.nowAt.clampedSum(Self.pauseOfChecks)
      if old.isEmpty { return rest }
    }
    // Several rows must be old before the next end checks again.
    let recent = oldest.dropFirst(old.count)
    if self.outcome.editsToCheck == nil, let next = recent.prefix(Self.slack(of: kept) + 1).last {
      rest.isRecentUntil = next.endedAt.clampedSum(MutationHistoryLimits.recent)
    }
    guard let newest = old.last?.sequence else { return rest }
    let gone = try self.connection.first(Self.countUpTo, id, name, instance, newest) {
      (count: try $0.integer(at: 0), bytes: try $0.integer(at: 1))
    }
    try self.remember(ForgottenRow.insertUpTo, id, name, instance, newest)
    try self.connection.execute(Self.deleteAttemptsUpTo, id, name, instance, newest)
    try self.connection.execute(Self.deleteUpTo, id, name, instance, newest)
    if let gone { self.didDelete(gone.count, bytes: gone.bytes) }
    if newest == last {
      rest.number = kept
    } else if rest.isRecentUntil == .min {
      // The next end goes on.
      return nil
    }
    return rest
  }

  private mutating func didDelete(_ count: Int64, bytes: Int64) {
    self.memory.historyCount = nil
    self.partition.historyCount = max(self.partition.historyCount - count, 0)
    self.partition.historyBytes = max(self.partition.historyBytes.clampedDifference(bytes), 0)
  }

  /// How many rows the history has of a mutation to which one was just added.
  private func historyCount(
    of name: String, instance: String, limit: Int
  ) throws -> OutboxMemory.HistoryCount {
    if var last = self.memory.historyCount, last.name == name, last.instance == instance {
      last.number += 1
      return last
    }
    let number = try self.connection.first(
      Self.countOfMutation, self.partition.id, name, instance, limit
    ) { Int(try $0.integer(at: 0)) }
    return OutboxMemory.HistoryCount(name: name, instance: instance, number: number ?? 0)
  }

  /// Removes the oldest rows while there are too many, or they have too many bytes.
  ///
  /// If more must be removed than may be at once, the outcome says so.
  ///
  /// - Parameter isContinued: Whether this goes on with what an earlier transaction has begun.
  /// - Throws: `StorageError`.
  private mutating func pruneOldest(isContinued: Bool = false) throws {
    self.outcome.mustPrune = false
    // The last one to end stays, however large it is: a waiting caller must get its result.
    guard self.partition.historyCount > 1, self.isHistoryTooLarge(withSlack: !isContinued) else {
      return
    }
    let rows = try self.connection.rows(
      Self.oldest, self.partition.id, self.memory.lastPruned, Self.prunedAtOnce,
      read: Doomed.init)
    var last: Doomed?
    var bytes: Int64 = 0
    for row in rows where self.partition.historyCount > 1 && self.isHistoryTooLarge() {
      if bytes > Self.prunedBytesAtOnce { break }
      bytes += row.bytes
      self.didDelete(1, bytes: row.bytes)
      last = row
    }
    if let first = rows.first, let last {
      let id = self.partition.id
      _ = try self.handOnEffects(of: first.sequence...last.sequence)
      try self.remember(ForgottenRow.insertBetween, id, first.sequence, last.sequence)
      try self.connection.execute(
        Self.deleteAttemptsBetween, id, first.sequence, last.sequence)
      try self.connection.execute(Self.deleteBetween, id, first.sequence, last.sequence)
      self.memory.lastPruned = last.sequence
    }
    guard self.partition.historyCount > 1, self.isHistoryTooLarge() else { return }
    if last != nil {
      self.outcome.mustPrune = true
    } else if self.memory.lastPruned > 0 {
      // Rows are older than they should be: all of them are examined.
      self.memory.lastPruned = 0
      self.outcome.mustPrune = true
    } else {
      // There are no more rows: the counts were wrong.
      (self.partition.historyCount, self.partition.historyBytes) = (0, 0)
    }
  }

  /// Removes rows older than the history's days, and then aliases that no row can need.
  ///
  /// - Parameter budget: The limit of this step; if more is left, the outcome says so.
  /// - Throws: `StorageError`.
  mutating func pruneOldHistory(_ budget: StepBudget) throws {
    (self.outcome.hasPrunedByAge, self.outcome.mustPruneByAge) = (true, false)
    let days = self.terms.limits.days
    // A wrong clock must not make anything old.
    if days <= 0 || self.partition.historyCount == 0 || !self.now.isSynchronised { return }
    let first = self.nowAt.clampedDifference(Int64(days) * 86_400_000_000)
    let rows = try self.connection.rows(
      Self.before, self.partition.id, self.memory.lastPruned, first, budget.rows,
      read: Doomed.init)
    self.outcome.mustPruneByAge = try !self.delete(rows, budget) || rows.count == budget.rows
    if self.outcome.mustPruneByAge { return }
    self.outcome.mustPruneByAge =
      try !self.pruneAliases(before: first, atMost: budget.rows)
      || !self.pruneForgotten(atMost: budget.rows)
  }

  /// Removes rows beyond the limit of all mutations together, as many as fit into a transaction.
  ///
  /// - Throws: `StorageError`.
  mutating func pruneStep(_ budget: StepBudget) throws {
    var count = 0
    repeat {
      try self.pruneOldest(isContinued: true)
      count += Self.prunedAtOnce
    } while self.outcome.mustPrune && !budget.isSpent(after: count)
  }

  private func isHistoryTooLarge(withSlack: Bool = false) -> Bool {
    self.terms.limits.isExceeded(
      count: self.partition.historyCount, bytes: self.partition.historyBytes, withSlack: withSlack)
  }

  /// Removes ended mutations of a name and instance, as many as fit into a transaction.
  ///
  /// - Returns: Whether those were all.
  /// - Throws: `StorageError`.
  mutating func clearHistory(
    of name: String, instance: String, _ budget: StepBudget
  ) throws -> Bool {
    let rows = try self.connection.rows(
      Self.ofMutation, self.partition.id, name, instance, budget.rows, read: Doomed.init)
    if !rows.isEmpty { self.outcome.isChanged = true }
    return try self.delete(rows, budget) && rows.count < budget.rows
  }

  /// Deletes rows until the budget is spent.
  ///
  /// - Returns: Whether all were deleted.
  private mutating func delete(_ doomed: [Doomed], _ budget: StepBudget) throws -> Bool {
    for (index, row) in doomed.enumerated() {
      if budget.isSpent(after: index) { return false }
      let mayGo = try self.handOnEffects(of: row.sequence...row.sequence)
      try self.connection.execute(Self.deleteAttempts, row.sequence)
      if !mayGo {
        // The last row of all has nobody to hand that to. It stays, in no mutation's history.
        try self.connection.execute(Self.withdraw, row.sequence)
        continue
      }
      try self.remember(ForgottenRow.insertOne, row.sequence)
      try self.connection.execute(Self.delete, row.sequence)
      self.didDelete(1, bytes: row.bytes)
    }
    return true
  }

  /// Removes old aliases that no live row can need.
  ///
  /// - Returns: Whether those were all.
  private mutating func pruneAliases(before date: Int64, atMost count: Int) throws -> Bool {
    let isAny = try self.connection.first(AliasRow.any, self.partition.id) { _ in true }
    self.memory.isFreeOfAliases = isAny == nil
    // Seldom true; and if many rows of other partitions come first, finding the first one takes long.
    let isAnyOld = try self.connection.first(AliasRow.hasOld, self.partition.id, date) { _ in true }
    guard isAnyOld == true else { return true }
    let firstLive = try self.connection.first(AliasRow.firstLive, self.partition.id) {
      try $0.integer(at: 0)
    }
    try self.connection.execute(
      AliasRow.prune, self.partition.id, date, firstLive ?? .max, count)
    return try self.connection.changes < count
  }
}
