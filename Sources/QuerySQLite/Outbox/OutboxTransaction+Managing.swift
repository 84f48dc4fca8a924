import FoundationEssentials
import Query

// MARK: - Managing

extension OutboxTransaction {
  /// Makes a row live again, or due at once.
  ///
  /// - Parameters:
  ///   - arguments: Other arguments, which get a new key.
  ///   - version: The version of those; nil: that of the row.
  ///   - newKey: Whether it gets a new key in any case.
  /// - Returns: Whether later rows of its lane have run.
  /// - Throws: `OutboxError`; `StorageError`.
  mutating func retry(
    _ id: UUID, arguments: Data?, version: Int? = nil, editedPaths: EditedPaths? = nil,
    newKey: Bool
  ) throws -> Bool {
    guard var row = try self.rowWithoutExited(id) else { throw OutboxError.ended(id) }
    var standing = row.standing
    let wasDead = try standing.retry(id)
    try self.loadHosts()
    let host = row.effectiveHost
    try self.setHost(host, to: self.standing(ofHost: host)?.retried(at: self.now))
    if arguments != nil || newKey {
      try self.replaceContent(
        of: &row, arguments: arguments ?? row.arguments, version: version, key: UUID().uuidString,
        editedPaths: editedPaths)
    }
    if wasDead { try row.restartAge(self.now, on: self.connection) }
    try self.follow(.pending, &row, to: standing)
    return try self.hasRunBehind(row)
  }

  /// Reads a row that must be there, and takes it back first if the process that ran it has exited: nobody is
  /// left there who could be asked.
  ///
  /// - Returns: nil if it has ended with that, since its cancellation was requested.
  /// - Throws: `OutboxError`: ended or unknown; `StorageError`.
  private mutating func rowWithoutExited(_ id: UUID) throws -> OutboxRow? {
    let row = try self.requireRow(id)
    guard let owner = row.standing.lease?.owner, owner != self.terms.owner,
      self.terms.reaper.isGone(owner)
    else { return row }
    _ = try self.reap()
    return try self.row(id)
  }

  /// Partition, lane, number: whether a later one was attempted.
  private static let hasAttemptBehind: SQL = """
    SELECT 1 FROM outbox WHERE partition = ? AND lane = ? AND number > ? AND attempts > 0 LIMIT 1
    """

  private func hasRunBehind(_ row: OutboxRow) throws -> Bool {
    guard let lane = row.lane else { return false }
    for sql in [Self.hasAttemptBehind, HistoryRow.hasSuccessBehind] {
      let found = try self.connection.first(sql, self.partition.id, lane, row.number) { _ in true }
      if found == true { return true }
    }
    return false
  }

  /// Ends a dead row.
  ///
  /// - Throws: `OutboxError`; `StorageError`.
  mutating func discard(_ id: UUID) throws {
    var row = try self.requireRow(id)
    try self.follow(try row.standing.discard(id), &row, to: row.standing)
  }

  /// Ends a row, or asks the process that runs it to end it.
  ///
  /// - Returns: Whether it has ended.
  /// - Throws: `OutboxError`; `StorageError`.
  mutating func cancel(_ id: UUID) throws -> Bool {
    guard var row = try self.rowWithoutExited(id) else { return true }
    var standing = row.standing
    if let sequel = standing.cancel() {
      try self.follow(sequel, &row, to: standing)
      return true
    }
    if !row.standing.isCancelRequested {
      try self.update(&row, to: standing)
      // The process that runs it is notified.
      self.outcome.isChanged = true
    }
    if row.standing.lease?.owner == self.terms.owner {
      self.outcome.revocations.append((row.number, .cancelRequested))
    }
    return false
  }
}

// MARK: - Releasing

extension OutboxTransaction {
  /// Partition, number, limit: those after it.
  static let refused: SQL = """
    SELECT number FROM outbox
    WHERE state = 'pending' AND wait_reason = 'authentication' AND partition = ? AND number > ?
    ORDER BY number LIMIT ?
    """

  /// Partition, number, limit: those after it.
  static let unreadable: SQL = """
    SELECT number FROM outbox
    WHERE state = 'pending' AND wait_reason = 'handler' AND partition = ? AND number > ?
    ORDER BY number LIMIT ?
    """

  /// Partition, number, limit: those after it.
  static let offline: SQL = """
    SELECT number FROM outbox
    WHERE state = 'pending' AND (wait_reason = 'offline' OR last_failure = 'connectivity')
      AND partition = ? AND number > ? ORDER BY number LIMIT ?
    """

  /// Releases rows that wait for credentials, or for the network, as many as fit into a
  /// transaction.
  ///
  /// - Parameter last: The number of the last row examined; 0 for the first call.
  /// - Returns: The last number examined now; nil at the end.
  /// - Throws: `StorageError`.
  mutating func release(
    _ reason: MutationWaitReason, after last: Int64, _ budget: StepBudget
  ) throws -> Int64? {
    let sql: SQL
    switch reason {
    case .authentication:
      if last == 0 { self.partition.credentialsEpoch &+= 1 }
      sql = Self.refused
    case .offline: sql = Self.offline
    case .handler: sql = Self.unreadable
    default: return nil
    }
    let now = self.now
    if last == 0 { try self.changeHosts { $0.released(reason, at: now) } }
    let numbers = try self.connection.rows(sql, self.partition.id, last, budget.rows) {
      try $0.integer(at: 0)
    }
    self.tell(.released)
    for (index, number) in numbers.enumerated() {
      if budget.isSpent(after: index) { return numbers[index - 1] }
      try self.release(number, reason)
    }
    return numbers.count < budget.rows ? nil : numbers.last
  }

  private mutating func release(_ number: Int64, _ reason: MutationWaitReason) throws {
    guard var row = try self.row(number) else { return }
    var standing = row.standing
    if standing.release(reason, at: self.now) { try self.update(&row, to: standing) }
  }
}
