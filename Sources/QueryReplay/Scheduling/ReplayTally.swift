import FoundationEssentials
import Query

/// What one run has done, for ``ReplaySummary``.
struct ReplayTally: Sendable {
  private var summary = ReplaySummary()
  private var vain = Set<UUID>()
  // Those that go on with other arguments.
  private var changed = Set<UUID>()
  private var firstTries = 0
  private var repeats = 0

  /// Notes how an attempt ended.
  mutating func note(_ report: AttemptReport, of id: UUID) {
    self.vain.remove(id)
    self.changed.remove(id)
    switch report {
    case .succeeded, .superseded: self.summary.succeeded += 1
    case .dead: self.summary.dead += 1
    case .pending(let failure, let reason):
      self.vain.insert(id)
      if failure == .conflict, reason == nil { self.changed.insert(id) }
    case .leftOut, .cancelled, .leaseLost: break
    }
  }

  /// Notes mutations that a claim has found too old.
  mutating func noteExpired(_ count: Int) { self.summary.dead += count }

  /// Notes mutations that are about to be tried. A mutation whose arguments a conflict changed
  /// counts as another one.
  mutating func noteBegin(of ids: [UUID]) {
    for id in ids {
      let isRepeat = self.vain.contains(id) && !self.changed.contains(id)
      if isRepeat { self.repeats += 1 } else { self.firstTries += 1 }
    }
  }

  /// Whether the run now only repeats failed attempts: if many fail for long, the wait of one of
  /// them is always over.
  var isRepeating: Bool { self.repeats > self.firstTries + 8 }

  /// - Parameter pending: How many mutations are pending in the end.
  func summary(pending: Int) -> ReplaySummary {
    var summary = self.summary
    summary.failed = self.vain.count
    summary.waiting = max(0, pending - self.vain.count)
    return summary
  }
}
