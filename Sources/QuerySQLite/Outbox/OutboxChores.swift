import Query

/// Work that a transaction has left over, since it would have taken too long: the writing thread
/// does it when no caller waits, a step at a time, so that other connections can write in between.
struct OutboxChores {
  /// A piece of that work.
  enum Chore: Hashable {
    /// Part of the history is to go.
    case prune
    case pruneByAge
    /// Rows go on, or die, that depend on one which has ended.
    case releaseDependants(of: Int64)
    /// Rows go on that wait for an alias which is published.
    case releaseWaiting(for: String)
    /// Rows die that wait for an alias which nobody can publish.
    case endVainWaits
    /// Rows die that have grown too old: each transaction begins with that.
    case expire
    /// The same of rows of earlier boots, after this number.
    case expireOlder(after: Int64)
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
    for target in outcome.targetsLeft { self.add(.releaseDependants(of: target), of: partition) }
    for alias in outcome.aliasesLeft { self.add(.releaseWaiting(for: alias), of: partition) }
    if let last = outcome.olderLeft { self.add(.expireOlder(after: last), of: partition) }
    if outcome.hasVainWaitsLeft { self.add(.endVainWaits, of: partition) }
  }

  /// Takes note of something to be done.
  mutating func add(_ chore: Chore, of partition: OutboxPartition) {
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
  /// Finds the work that a process which has died, or has closed the file, has left.
  func findChores(of partition: OutboxPartition) {
    guard let connection = self.connection else { return }
    do {
      let row = try OutboxPartitionRow.find(partition.name, on: connection)
      guard let row, row.counts.pending > 0 else { return }
      self.chores.add(.expire, of: partition)
      self.chores.add(.expireOlder(after: 0), of: partition)
      for chore in try OutboxChores.Chore.left(in: row.id, on: connection) {
        self.chores.add(chore, of: partition)
      }
    } catch {
      // The next opening finds them.
      self.didFail(error)
    }
  }

  /// Does a step. If it fails, the next transaction that needs it adds it again.
  func doChore() {
    guard let (partition, chore) = self.chores.next() else { return }
    if !self.isNeeded(chore, partition) { return }
    let rows = self.configuration.stepRows
    let job = OutboxJob(partition: partition, needsOwner: false) { changes in
      let budget = changes.connection.stepBudget(rows: rows)
      switch chore {
      case .prune: try changes.pruneStep(budget)
      case .pruneByAge: try changes.pruneOldHistory(budget)
      case .releaseDependants(let target):
        try changes.releaseDependants(of: target, budget)
        // A replayer that waits looks again.
        changes.tell(.released)
      case .releaseWaiting(let alias):
        try changes.releaseWaiting(for: alias, budget)
        changes.tell(.released)
      case .endVainWaits: try changes.endVainWaits(budget)
      case .expire: break
      case .expireOlder(let last): try changes.expireOlder(after: last, budget)
      }
    } completion: { _ in
    }
    self.run([job])
  }
}
