import FoundationEssentials
import Query

// MARK: - What waits for others

extension OutboxTransaction {
  /// How many rows are released, or die, in the transaction that ends the one they wait for. The
  /// others wait for transactions of their own: the file shows that each has nothing left to wait
  /// for, so that the process that opens it next does what a crash has left.
  static let releasedAtOnce = 64

  /// Whether a row waits for another one's success.
  mutating func hasDependants(_ number: Int64) throws -> Bool {
    if self.memory.isFreeOfDependencies { return false }
    if try self.connection.first(DependencyRow.dependants, number, 1, read: { _ in true }) == true {
      return true
    }
    let isAny = try self.connection.first(DependencyRow.any) { _ in true }
    self.memory.isFreeOfDependencies = isAny == nil
    return false
  }

  /// Releases the rows that depend on an ended mutation, or makes them dead.
  ///
  /// - Throws: `StorageError`.
  mutating func releaseDependants(
    of target: Int64, from outcome: RecordedMutation.Outcome
  ) throws {
    let isMissed = outcome.isMissed
    let budget = StepBudget.rows(Self.releasedAtOnce)
    if try self.releaseDependants(of: target, isMissed: isMissed, budget) { return }
    if isMissed { try self.connection.execute(DependencyRow.insert, -target, target) }
    self.outcome.targetsLeft.append(target)
  }

  /// Goes on with the work that the end of a row has left, as much as fits a transaction.
  ///
  /// - Throws: `StorageError`.
  mutating func releaseDependants(of target: Int64, _ budget: StepBudget) throws {
    // The row exists again if a person has restored the file.
    if try self.row(target) != nil { return }
    let isMissed =
      try self.connection.first(DependencyRow.isMissed, -target, target) { _ in true } ?? false
    if try self.releaseDependants(of: target, isMissed: isMissed, budget) {
      if isMissed { try self.connection.execute(DependencyRow.deleteByDependant, -target) }
    } else {
      self.outcome.targetsLeft.append(target)
    }
  }

  /// - Returns: Whether those were all.
  private mutating func releaseDependants(
    of target: Int64, isMissed: Bool, _ budget: StepBudget
  ) throws -> Bool {
    let dependants = try self.connection.rows(
      DependencyRow.dependants, target, budget.rows
    ) { try $0.integer(at: 0) }
    for (index, number) in dependants.enumerated() {
      if budget.isSpent(after: index) { return false }
      try self.connection.execute(DependencyRow.delete, number, target)
      guard var row = try self.row(number), row.standing.state == .pending else { continue }
      if isMissed {
        try self.kill(&row, .dependency)
      } else if !row.hasDependencies {
        try self.refreshHead(&row)
      }
    }
    return dependants.count < budget.rows
  }
}

// MARK: - Aliases

extension OutboxTransaction {
  /// Stores the aliases that an attempt has published, and releases the rows that wait for them.
  ///
  /// - Throws: `StorageError`.
  mutating func publish(_ aliases: [String: String], by id: UUID) throws {
    if aliases.isEmpty { return }
    self.memory.isFreeOfAliases = false
    let newest = try self.partition.newestNumber(on: self.connection)
    for (name, value) in aliases.sorted(by: { $0.key < $1.key }) {
      let alias = name.canonicallyComposed
      try self.connection.execute(
        AliasRow.insert, self.partition.id, alias, value, id, self.nowAt, newest)
      try self.releaseWaiting(for: alias, .rows(Self.releasedAtOnce))
    }
  }

  /// Releases rows that wait for a published alias, as many as fit a transaction.
  ///
  /// - Throws: `StorageError`.
  mutating func releaseWaiting(for alias: String, _ budget: StepBudget) throws {
    let waiting = try self.connection.rows(
      AliasRow.awaiting, self.partition.id, alias, budget.rows
    ) { try $0.integer(at: 0) }
    var isDone = waiting.count < budget.rows
    for (index, number) in waiting.enumerated() {
      if budget.isSpent(after: index) {
        isDone = false
        break
      }
      guard var row = try self.row(number) else { continue }
      var standing = row.standing
      standing.wait = .nothing
      try self.update(&row, to: standing)
    }
    if !isDone { self.outcome.aliasesLeft.append(alias) }
  }

  /// Whether an alias has a value.
  func hasAlias(_ alias: String) throws -> Bool {
    let name = alias.canonicallyComposed
    return try self.connection.first(AliasRow.read, self.partition.id, name) { _ in true } ?? false
  }

  /// Whether a live row before another one may still publish something.
  func hasEarlierLive(than number: Int64) throws -> Bool {
    try self.connection.first(AliasRow.hasEarlier, self.partition.id, number) { _ in true }
      ?? false
  }

  /// Makes rows dead that wait for an alias which no row can publish any more, as many as fit a
  /// transaction: the first live row is such a row if it waits, since none is before it.
  ///
  /// - Throws: `StorageError`.
  mutating func endVainWaits(_ budget: StepBudget) throws {
    self.outcome.hasVainWaitsLeft = false
    if self.memory.isFreeOfAwaiting { return }
    let isAny = try self.connection.first(AliasRow.anyAwaiting, self.partition.id) { _ in true }
    self.memory.isFreeOfAwaiting = isAny == nil
    if isAny == nil { return }
    var (count, last) = (0, Int64.min)
    while let first = try self.firstLive(after: last), var row = try self.row(first),
      row.standing.state == .pending, let alias = row.standing.wait.alias
    {
      if budget.isSpent(after: count) {
        self.outcome.hasVainWaitsLeft = true
        return
      }
      // The row is one of those that are released in their turn.
      if try self.hasAlias(alias) { return }
      try self.kill(&row, .dependency)
      (count, last) = (count + 1, first)
    }
  }

  private func firstLive(after last: Int64) throws -> Int64? {
    try self.connection.first(AliasRow.firstLiveAfter, self.partition.id, last) {
      try $0.integer(at: 0)
    }
  }
}

// MARK: - What a crash has left

extension OutboxChores.Chore {
  /// Partition: rows that depend on an ended mutation. Target. Each target is looked up once, however many
  /// depend on it.
  private static let targets: SQL = """
    WITH RECURSIVE targets (number) AS (
      SELECT min(target) FROM dependencies
      UNION ALL
      SELECT (SELECT min(target) FROM dependencies WHERE target > targets.number) FROM targets
      WHERE targets.number IS NOT NULL)
    SELECT number FROM targets
    WHERE NOT EXISTS (SELECT 1 FROM outbox AS t WHERE t.number = targets.number)
      AND (SELECT o.partition FROM dependencies AS d JOIN outbox AS o ON o.number = d.dependant
        WHERE d.target = targets.number LIMIT 1) = ?
    """

  /// Partition: rows that wait for a published alias. Alias.
  private static let aliases: SQL = """
    SELECT DISTINCT o.awaited_alias FROM outbox AS o
      JOIN aliases AS a ON a.partition = o.partition AND a.alias = o.awaited_alias
    WHERE o.awaited_alias IS NOT NULL AND o.partition = ?
    """

  /// The work in a partition that a process left when it died, as the rows show it.
  ///
  /// - Throws: `StorageError`.
  /// - Complexity: O(*n*) in the number of rows that wait for others.
  static func left(in partition: Int64, on connection: SQLiteConnection) throws -> [Self] {
    let targets = try connection.rows(Self.targets, partition) { try $0.integer(at: 0) }
    let aliases = try connection.rows(Self.aliases, partition) { try $0.text(at: 0) }
    let isAny = try connection.first(AliasRow.anyAwaiting, partition) { _ in true }
    return targets.map { .releaseDependants(of: $0) } + aliases.map { .releaseWaiting(for: $0) }
      + (isAny == nil ? [] : [.endVainWaits])
  }
}
