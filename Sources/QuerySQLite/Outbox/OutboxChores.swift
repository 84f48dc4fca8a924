import Query

/// Work that a transaction has left over, since it would have taken too long: the writing thread
/// does it when no caller waits, a step at a time, so that other connections can write in between.
struct OutboxChores {
  /// A part of the history to remove.
  enum Chore: Hashable {
    case prune
    case pruneByAge
  }

  private struct Waiting {
    let partition: OutboxPartition
    let chore: Chore
  }

  /// The pause between two steps.
  private static let pause = Duration.milliseconds(10)

  private var waiting = [Waiting]()

  /// When the next one is due; nil: there is none.
  private(set) var due: SuspendingClock.Instant?

  /// Records the work that a transaction has left over.
  mutating func add(_ outcome: OutboxTransaction.Outcome, of partition: OutboxPartition) {
    if outcome.mustPrune { self.add(.prune, of: partition) }
    if outcome.mustPruneByAge { self.add(.pruneByAge, of: partition) }
  }

  private mutating func add(_ chore: Chore, of partition: OutboxPartition) {
    if self.due == nil { self.due = .now + Self.pause }
    if self.waiting.contains(where: { $0.partition === partition && $0.chore == chore }) { return }
    self.waiting.append(Waiting(partition: partition, chore: chore))
  }

  func isDue(_ now: SuspendingClock.Instant) -> Bool { self.due.map { now >= $0 } ?? false }

  /// Takes the one that has waited longest. What that leaves over must be added again.
  mutating func next() -> (partition: OutboxPartition, chore: Chore)? {
    if self.waiting.isEmpty { return nil }
    let first = self.waiting.removeFirst()
    self.due = self.waiting.isEmpty ? nil : .now + Self.pause
    return (first.partition, first.chore)
  }
}

extension OutboxWriter {
  /// Does a step. If it fails, the next transaction that needs it adds it again.
  func doChore() {
    guard let (partition, chore) = self.chores.next() else { return }
    let rows = self.configuration.stepRows
    let job = OutboxJob(partition: partition, needsOwner: false) { changes in
      switch chore {
      case .prune: try changes.pruneStep(StepBudget(rows: rows))
      case .pruneByAge: try changes.pruneOldHistory(StepBudget(rows: rows))
      }
    } completion: { _ in
    }
    self.run([job])
  }
}
