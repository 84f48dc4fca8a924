import FoundationEssentials

// MARK: - What people do

extension OutboxTable {
  /// Makes a dead row live again, and a waiting one due at once.
  ///
  /// - Parameters:
  ///   - id: The mutation.
  ///   - key: The key that it gets; nil: it keeps its own.
  ///   - arguments: The arguments that it gets; nil: it keeps its own.
  ///   - version: The version of those; nil: that of the row.
  /// - Returns: Whether rows behind it in its lane have run.
  /// - Throws: ``OutboxError``.
  mutating func retry(
    _ id: UUID,
    key: String?,
    arguments: Data? = nil,
    version: Int? = nil,
    editedPaths: EditedPaths? = nil,
    at time: OutboxTime
  ) throws(OutboxError) -> Bool {
    let index = try self.requireIndex(of: id)
    let wasDead = try self.rows[index].standing.retry(id)
    let host = self.rows[index].entry.effectiveHost
    self.hosts[host] = self.hosts[host]?.retried(at: time)
    if wasDead { self.rows[index].age = OutboxAge(from: time) }
    if let key {
      self.replaceKey(
        at: index, by: key, arguments: arguments, version: version, editedPaths: editedPaths)
    }
    self.follow(.pending, at: index, time)
    return self.hasBeenOvertaken(self.rows[index])
  }

  /// Whether rows behind this one in its lane have run.
  private func hasBeenOvertaken(_ row: OutboxRow) -> Bool {
    guard let lane = row.entry.lane else { return false }
    let number = row.entry.number
    return self.rows.contains {
      $0.entry.lane == lane && $0.entry.number > number && $0.standing.attempts > 0
    }
      || self.history.contains {
        $0.lane == lane && $0.record.number > number && $0.outcome == .succeeded
      }
  }

  /// Ends a dead row.
  ///
  /// - Throws: ``OutboxError``.
  mutating func discard(_ id: UUID, at time: OutboxTime) throws(OutboxError) {
    let index = try self.requireIndex(of: id)
    self.follow(try self.rows[index].standing.discard(id), at: index, time)
    self.prune(at: time)
    self.resolveAliasWaits(time)
  }

  /// Ends a row that is pending or dead, or asks the process that runs it to end it.
  ///
  /// - Returns: Whether it has ended.
  /// - Throws: ``OutboxError``.
  mutating func cancel(_ id: UUID, at time: OutboxTime) throws(OutboxError) -> Bool {
    let index = try self.requireIndex(of: id)
    guard let sequel = self.rows[index].standing.cancel() else {
      if let lease = self.rows[index].lease {
        self.effects.revocations.append((lease, .cancelRequested))
      }
      return false
    }
    self.follow(sequel, at: index, time)
    self.prune(at: time)
    self.resolveAliasWaits(time)
    return true
  }
}

// MARK: - All at once

extension OutboxTable {
  /// Keeps the mutations that a pause covers from being sent from now on.
  mutating func pause(_ pause: OutboxPause, at time: OutboxTime) {
    guard self.pauses[pause] == nil else { return }
    self.pauses[pause] = time.wall
    self.effects.events.append(.released)
  }

  /// Ends a pause.
  mutating func resume(_ pause: OutboxPause) {
    guard self.pauses.removeValue(forKey: pause) != nil else { return }
    self.effects.events.append(.released)
  }

  /// Releases rows that wait for credentials, or those that wait after a failed connection.
  mutating func release(_ reason: MutationWaitReason, at time: OutboxTime) {
    switch reason {
    case .authentication: self.credentialsEpoch += 1
    case .offline, .handler: break
    default: return
    }
    self.hosts = self.hosts.compactMapValues { $0.released(reason, at: time) }
    for index in self.rows.indices { _ = self.rows[index].standing.release(reason, at: time) }
    self.effects.events.append(.released)
  }

  /// Erases everything except the next number and the handlers of this process.
  mutating func erase() {
    for row in self.rows {
      if let lease = row.lease { self.effects.revocations.append((lease, .lost)) }
      self.effects.bodyFiles += BodyNames.split(row.bodyFile)
    }
    self.effects.events.append(.erased)
    self.rows = []
    self.history = []
    self.forgotten = ForgottenMutations()
    self.attempts = [:]
    self.aliases = [:]
    self.hosts = [:]
    self.pauses = [:]
    self.turns = ClaimTurns()
    self.epoch += 1
  }

  /// Removes the ended mutations of a name and instance.
  mutating func clearHistory(of name: String, instance: String) {
    self.replaceHistory(by: self.history.filter { !$0.isOf(name, instance) })
  }
}

// MARK: - Age

extension OutboxTable {
  /// Declares rows dead that have grown too old, whatever they wait for.
  mutating func expire(at time: OutboxTime) {
    if !self.hasOverdue(at: time) { return }
    for index in self.rows.indices where self.rows[index].isOverdue(at: time) {
      self.kill(at: index, .expired, time)
      self.expired += 1
    }
    self.resolveAliasWaits(time)
  }

  /// Whether there are such rows.
  func hasOverdue(at time: OutboxTime) -> Bool { self.rows.contains { $0.isOverdue(at: time) } }
}

// MARK: - Pruning

extension OutboxTable {
  /// Keeps the history to its limits: the first to end are the first to go, and the last to end stays
  /// however large it is. Attempts go with their mutations.
  mutating func prune(at time: OutboxTime) {
    let limits = self.limits
    var kept = self.keptOfEach(at: time).filter { !limits.isPast($0.endedAt, at: time) }
    var bytes = kept.reduce(0) { $0 + Int64($1.byteCount) }
    var surplus = 0
    while surplus < kept.count - 1,
      limits.isExceeded(
        count: Int64(kept.count - surplus), bytes: bytes, withSlack: surplus == 0)
    {
      bytes -= Int64(kept[surplus].byteCount)
      surplus += 1
    }
    kept.removeFirst(surplus)
    self.replaceHistory(by: kept)
    self.pruneAliases(at: time)
    let days = MutationHistoryLimits(days: self.limits.forgottenDays)
    if limits.days > 0 { self.forgotten.prune(atMost: 64) { days.isPast($0, at: time) } }
  }

  /// The history without the excess of each mutation. Only the last to end can have caused it.
  private func keptOfEach(at time: OutboxTime) -> [EndedMutation] {
    guard let last = self.history.last, self.limits.perMutation > 0 else { return self.history }
    var surplus = -self.limits.perMutation
    for past in self.history where past.isOf(last.name, last.instance) { surplus += 1 }
    return self.history.filter { past in
      guard surplus > 0, past.isOf(last.name, last.instance) else { return true }
      let age = time.wall.microsecondsSince1970
        .clampedDifference(past.endedAt.microsecondsSince1970)
      // An edit stays until every value includes it.
      if age >= MutationHistoryLimits.recent, self.isMissing(past) { return true }
      // Those behind it ended later.
      surplus = age >= MutationHistoryLimits.recent ? surplus - 1 : 0
      return age < MutationHistoryLimits.recent
    }
  }

  private func isMissing(_ past: EndedMutation) -> Bool {
    past.record.entry.editedPaths.map { self.isMissing($0, Int64(past.sequence)) } ?? false
  }

  /// Removes ended mutations, and their attempts with them.
  mutating func replaceHistory(by kept: [EndedMutation]) {
    guard kept.count < self.history.count else { return }
    let ids = Set(kept.map(\.record.id))
    for past in self.history where !ids.contains(past.record.id) {
      // Values that lack a forgotten edit are fetched again, those too that are not written yet.
      if let paths = past.record.entry.editedPaths {
        if self.isMissing(past) { self.effects.missedPaths.insert(paths) }
        self.effects.forgottenEdits[paths] = Int64(past.sequence)
      }
      self.attempts[past.record.id] = nil
      self.forgotten.insert(past, newest: self.lastSequence)
    }
    self.history = kept
  }

  /// Removes aliases that no live row can resolve, and that are older than the history.
  private mutating func pruneAliases(at time: OutboxTime) {
    if self.aliases.isEmpty { return }
    let oldest = self.rows.first(where: \.isLive)?.entry.number ?? .max
    let limits = self.limits
    self.aliases = self.aliases.filter { _, alias in
      oldest <= alias.newestNumber || !limits.isPast(alias.publishedAt, at: time)
    }
  }
}

extension MutationHistoryLimits {
  /// Whether something is older than the history's days.
  fileprivate func isPast(_ date: Date, at time: OutboxTime) -> Bool {
    // A wrong clock makes nothing old.
    self.days > 0 && time.isSynchronised
      && time.wall.timeIntervalSince(date) > Double(self.days) * 86_400
  }
}
