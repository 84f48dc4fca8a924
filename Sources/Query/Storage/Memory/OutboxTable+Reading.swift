import Foundation

// MARK: - Reading

extension OutboxTable {
  /// The rows as people see them.
  ///
  /// - Parameter state: Only rows in this state; nil: all.
  func entries(in state: OutboxEntry.State?, at time: OutboxTime) -> [OutboxEntry] {
    let heads = self.heads
    var entries = [OutboxEntry]()
    for row in self.rows where state == nil || row.entry.state == state {
      entries.append(self.entry(of: row, isHead: heads.contains(row.entry.number), at: time))
    }
    return entries
  }

  /// A row as callers see it; nil if no row has this identifier.
  func entry(_ id: UUID, at time: OutboxTime) -> OutboxEntry? {
    guard let index = self.index(of: id) else { return nil }
    let row = self.rows[index]
    return self.entry(of: row, isHead: self.isHead(row), at: time)
  }

  /// A row with what it waits for at this moment.
  func entry(of row: OutboxRow, isHead: Bool, at time: OutboxTime) -> OutboxEntry {
    var entry = row.entry
    entry.waitReason = self.waitReason(of: row, isHead: isHead, at: time)
    entry.nextAttemptAt = row.wait.remaining(at: time).map {
      time.wall.addingTimeInterval(Double($0.clampedMicroseconds) / 1_000_000)
    }
    return entry
  }

  /// What a row waits for: the first of the reasons that hold.
  private func waitReason(
    of row: OutboxRow,
    isHead: Bool,
    at time: OutboxTime
  ) -> MutationWaitReason? {
    guard row.entry.state == .pending else { return nil }
    if self.pausedSince != nil { return .paused }
    if !isHead { return .predecessor }
    if !row.dependencies.isEmpty { return .dependency }
    switch row.wait {
    case .alias: return .dependency
    case .credentials: return .authentication
    case .time(.offline, _): return .offline
    case .time(let reason, let due) where due > time.boottime: return reason
    case .time, .nothing: return self.lacksHandler(row) ? .handler : nil
    }
  }

  /// Whether this process runs mutations, but not this one.
  func lacksHandler(_ row: OutboxRow) -> Bool {
    guard let handlers = self.handlers else { return false }
    return !handlers.contains { $0.canRun(row.entry) }
  }

  /// How many there are.
  var counts: OutboxCounts {
    var counts = OutboxCounts()
    for row in self.rows {
      switch row.entry.state {
      case .pending: counts.pending += 1
      case .leased: counts.leased += 1
      case .dead: counts.dead += 1
      }
    }
    return counts
  }
}

// MARK: - What became of one

extension OutboxTable {
  /// What became of a mutation.
  func standing(of id: UUID, at time: OutboxTime) -> MutationStanding {
    guard let index = self.index(of: id) else {
      return self.ended(id).map { .ended($0.record) } ?? .unknown
    }
    let row = self.rows[index]
    let entry = self.entry(of: row, isHead: self.isHead(row), at: time)
    switch row.entry.state {
    case .pending: return .pending(entry, isNext: self.isNext(at: index, time))
    case .leased: return .leased(entry)
    case .dead: return .dead(entry)
    }
  }

  /// Whether a pending row may run as soon as the leased ones before it in its lane have ended.
  private func isNext(at index: Int, _ time: OutboxTime) -> Bool {
    let row = self.rows[index]
    let isBehindLeasedOnly = self.rows[..<index].allSatisfy {
      $0.entry.lane == nil || $0.entry.lane != row.entry.lane || !$0.holdsLane
        || $0.entry.state == .leased
    }
    return self.mayRun(row, isHead: isBehindLeasedOnly, at: time)
  }

  /// The mutations of a name and instance, ended or not, in the order of enqueueing.
  func history(
    of name: String,
    instance: String,
    at time: OutboxTime
  ) -> [RecordedMutation] {
    var records = self.history.filter { $0.isOf(name, instance) }.map(\.record)
    let heads = self.heads
    for row in self.rows where row.entry.name == name && row.entry.instance == instance {
      let entry = self.entry(of: row, isHead: heads.contains(row.entry.number), at: time)
      records.append(RecordedMutation(entry, failedAt: row.updatedAt))
    }
    return records.sorted { $0.number < $1.number }
  }
}

// MARK: - Explaining

extension OutboxTable {
  /// What keeps a mutation from running: the first of the clauses that decide `waitReason`.
  ///
  /// - Throws: ``OutboxError/unknown(_:)``.
  func clause(of id: UUID, at time: OutboxTime) throws(OutboxError) -> OutboxClause {
    guard let index = self.index(of: id) else {
      guard let past = self.ended(id) else { throw .unknown(id) }
      return .ended(past.outcome)
    }
    let row = self.rows[index]
    switch row.entry.state {
    case .pending: return self.clause(ofPending: row, at: time)
    case .leased: return .leased(by: "this process", since: self.attempts[id]?.last?.startedAt)
    case .dead: return .dead(row.entry.deadReason ?? .rejected, row.entry.lastError)
    }
  }

  private func clause(ofPending row: OutboxRow, at time: OutboxTime) -> OutboxClause {
    if let date = self.pausedSince { return .paused(since: date) }
    if let lane = row.entry.lane, let head = self.head(ofLane: lane), !self.isHead(row) {
      return .predecessor(self.entry(of: head, isHead: true, at: time))
    }
    if let id = row.dependencies.first, let target = self.entry(id, at: time) {
      return .dependency(target)
    }
    if case .alias(let alias) = row.wait { return .alias(alias) }
    if row.wait == .credentials { return .credentials }
    if case .time(let reason, _) = row.wait {
      if let remaining = row.wait.remaining(at: time) {
        return .time(reason, remaining: remaining)
      }
      if reason == .offline { return .network }
    }
    if self.lacksHandler(row) {
      return .handler(name: row.entry.name, version: row.entry.version)
    }
    return .due
  }
}
