import Foundation

// MARK: - Pruning

extension OutboxTable {
  /// Keeps the history to its limits: the first to end are the first to go, and the last to end stays
  /// however large it is. Attempts go with their mutations.
  mutating func prune(at time: OutboxTime) {
    let limits = self.limits
    var kept = self.keptOfEach().filter { !limits.isPast($0.endedAt, at: time) }
    var bytes = kept.reduce(0) { $0 + $1.byteCount }
    var surplus = 0
    while surplus < kept.count - 1,
      limits.total.isExceeded(by: kept.count - surplus) || limits.bytes.isExceeded(by: bytes)
    {
      bytes -= kept[surplus].byteCount
      surplus += 1
    }
    kept.removeFirst(surplus)
    self.replaceHistory(by: kept)
    self.pruneAliases(at: time)
  }

  /// The history without the excess of each mutation. Only the last to end can have caused it.
  private func keptOfEach() -> [EndedMutation] {
    guard let last = self.history.last, self.limits.perMutation > 0 else { return self.history }
    var surplus = -self.limits.perMutation
    for past in self.history where past.isOf(last.name, last.instance) { surplus += 1 }
    return self.history.filter { past in
      guard surplus > 0, past.isOf(last.name, last.instance) else { return true }
      surplus -= 1
      return false
    }
  }

  /// Removes ended mutations, and their attempts with them.
  mutating func replaceHistory(by kept: [EndedMutation]) {
    guard kept.count < self.history.count else { return }
    let ids = Set(kept.map(\.record.id))
    for past in self.history where !ids.contains(past.record.id) {
      self.attempts[past.record.id] = nil
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

extension Int {
  /// Whether a number exceeds this limit; 0 means no limit.
  fileprivate func isExceeded(by number: Int) -> Bool { self > 0 && number > self }
}
