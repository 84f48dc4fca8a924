import FoundationEssentials
import Query

/// What one run has done, for ``ReplaySummary``.
struct ReplayTally: Sendable {
  private var summary = ReplaySummary()
  private var vain = Set<UUID>()
  // The outbox may report it besides the attempt.
  private var dead = Set<UUID>()
  // Those that go on with other arguments.
  private var changed = Set<UUID>()
  private var firstTries = 0
  private var repeats = 0

  /// Notes how an attempt ended.
  mutating func note(_ report: AttemptReport, of id: UUID) {
    self.noteEnd(of: id)
    switch report {
    case .succeeded, .superseded: self.summary.succeeded += 1
    case .dead: self.dead.insert(id)
    case .pending(let failure, let reason):
      self.vain.insert(id)
      if failure == .conflict, reason == nil { self.changed.insert(id) }
    case .leftOut, .cancelled, .leaseLost: break
    }
  }

  /// Notes that a mutation has died while nobody ran it, such as one that waited for what can no longer
  /// come.
  mutating func noteDeath(of id: UUID) {
    self.noteEnd(of: id)
    self.dead.insert(id)
  }

  /// Notes that a mutation is no longer pending, by whatever has ended it.
  mutating func noteEnd(of id: UUID) {
    self.vain.remove(id)
    self.changed.remove(id)
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

  /// - Parameter left: How many mutations are left in the end: pending, or sent by other runs.
  func summary(left: Int) -> ReplaySummary {
    var summary = self.summary
    summary.dead += self.dead.count
    summary.failed = self.vain.count
    summary.waiting = max(0, left - self.vain.count)
    return summary
  }
}
