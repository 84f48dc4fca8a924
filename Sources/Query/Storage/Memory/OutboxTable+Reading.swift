import FoundationEssentials

// MARK: - Reading

extension OutboxTable {
  /// The rows as people see them.
  ///
  /// - Parameter state: Only rows in this state; nil: all.
  func entries(in state: OutboxEntry.State?, at time: OutboxTime) -> [OutboxEntry] {
    let heads = self.heads
    var entries = [OutboxEntry]()
    for row in self.rows where state == nil || row.standing.state == state {
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
    entry.show(
      row.standing, isHead: isHead, hasDependencies: !row.dependencies.isEmpty, in: self.view(time))
    return entry
  }

  private func view(_ time: OutboxTime) -> OutboxView {
    OutboxView(
      pauses: self.pauses, handlers: self.handlers, hosts: self.hosts, now: time)
  }

  /// How many there are.
  var counts: OutboxCounts {
    var counts = OutboxCounts()
    for row in self.rows { counts.add(row) }
    return counts
  }

  /// How many pending ones there are of each kind.
  var pendingKinds: [OutboxKind: Int] {
    var kinds = [OutboxKind: Int]()
    for row in self.rows where row.standing.state == .pending {
      kinds[row.entry.kind, default: 0] += 1
    }
    return kinds
  }

  /// How many there are of each host.
  var countsByHost: [String: OutboxCounts] {
    var counts = [String: OutboxCounts]()
    for row in self.rows { counts[row.entry.effectiveHost, default: OutboxCounts()].add(row) }
    return counts
  }
}

extension OutboxCounts {
  /// Counts a row that was enqueued after those before.
  fileprivate mutating func add(_ row: OutboxRow) {
    switch row.standing.state {
    case .pending: self.pending += 1
    case .leased: self.leased += 1
    case .dead: self.dead += 1
    }
    if row.isLive, self.oldestAt == nil { self.oldestAt = row.entry.createdAt }
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
    switch row.standing.state {
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
        || $0.standing.state == .leased
    }
    return self.mayRun(row, isHead: isBehindLeasedOnly, at: time)
      && !self.hostHoldsCallers(of: row, at: time)
  }

  /// The mutations of a name and instance, ended or not, in the order of enqueueing.
  func history(
    of name: String,
    instance: String,
    at time: OutboxTime
  ) -> [RecordedMutation] {
    let ended = self.history.filter { $0.isOf(name, instance) }
    let limit = self.limits.perMutation
    var records = ended.suffix(limit > 0 ? limit : ended.count).map(\.record)
    let heads = self.heads
    for row in self.rows where row.entry.name == name && row.entry.instance == instance {
      let entry = self.entry(of: row, isHead: heads.contains(row.entry.number), at: time)
      records.append(RecordedMutation(entry, failedAt: row.standing.failedAt))
    }
    return records.sorted { $0.number < $1.number }
  }
}

// MARK: - For edits

extension OutboxTable {
  /// The live and dead mutations of some names, and those that ended after a sequence.
  func log(
    of handlers: Set<MutationHandler>, endedAfter sequence: Int64, at time: OutboxTime
  ) -> MutationLog {
    let keys = Set(handlers.map(\.key))
    func isWanted(_ entry: OutboxEntry) -> Bool {
      keys.contains(.init(name: entry.name, instance: entry.instance))
    }
    var all = self.history.filter { $0.sequence > sequence && isWanted($0.record.entry) }
      .map(\.record)
    let heads = self.heads
    for row in self.rows where isWanted(row.entry) {
      let entry = self.entry(of: row, isHead: heads.contains(row.entry.number), at: time)
      all.append(RecordedMutation(entry, failedAt: row.standing.failedAt))
    }
    let others = self.history.filter {
      $0.sequence > sequence && $0.outcome == .succeeded && !isWanted($0.record.entry)
    }
    return MutationLog(
      sequence: Int64(self.lastSequence), records: all,
      others: others.map {
        .init(sequence: Int64($0.sequence), name: $0.name, instance: $0.record.entry.instance)
      },
      unknown: self.rows.compactMap { row in
        guard row.isLive, !isWanted(row.entry) else { return nil }
        return row.entry.editedPaths.map { .init(id: row.entry.id, editedPaths: $0) }
      })
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
    let target = self.rows.first { row.dependencies.contains($0.entry.id) }
    return self.entry(of: row, isHead: self.isHead(row), at: time).clause(
      row.standing, in: self.view(time), owner: (Self.owner, false),
      predecessor: row.entry.lane.flatMap { self.head(ofLane: $0) }.map {
        self.entry(of: $0, isHead: true, at: time)
      },
      dependency: target.map { self.entry(of: $0, isHead: self.isHead($0), at: time) })
  }
}
