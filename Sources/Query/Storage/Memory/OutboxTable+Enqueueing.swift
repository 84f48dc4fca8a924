import Foundation

// MARK: - Enqueueing

extension OutboxTable {
  /// Appends a mutation, and leases it if it may run now.
  ///
  /// - Throws: ``OutboxError/unknownDependencies(_:)``, ``OutboxError/ended(_:)`` of a dependency that
  ///   will not succeed; ``StorageError`` if there is a mutation of the same identifier.
  mutating func enqueue(
    _ mutation: NewMutation,
    claiming: Bool,
    at time: OutboxTime
  ) throws -> EnqueuedMutation {
    guard self.index(of: mutation.id) == nil, self.ended(mutation.id) == nil else {
      throw StorageError(
        operation: "enqueue", code: .constraint,
        message: "there is a mutation of this identifier already")
    }
    let dependencies = try self.openDependencies(of: mutation)
    self.lastNumber += 1
    var row = OutboxRow(
      entry: OutboxEntry(mutation, number: self.lastNumber, createdAt: time.wall),
      ageStart: time.boottime, dependencies: dependencies)
    if let reason = mutation.waitReason { row.wait = .time(reason, due: time.boottime) }
    self.effects.events.append(.enqueued(mutation.id))
    let superseded = self.supersede(by: &row, mutation, at: time)
    self.rows.append(row)
    var lease: MutationLease?
    // A row known to wait for the network waits for it, whichever caller claims.
    let isWanted = claiming && mutation.waitReason == nil
    if isWanted, self.mayRun(row, isHead: self.isHead(row), at: time) {
      lease = self.lease(at: self.rows.count - 1, isReplay: false, time)
    }
    if superseded != nil { self.prune(at: time) }
    let entry = lease?.entry ?? self.entry(of: row, isHead: self.isHead(row), at: time)
    return EnqueuedMutation(entry: entry, lease: lease, superseded: superseded)
  }

  /// The mutations that a mutation must wait for.
  private func openDependencies(of mutation: NewMutation) throws(OutboxError) -> [UUID] {
    var open = [UUID]()
    var unknown = [UUID]()
    var ended: UUID?
    for id in mutation.dependencies {
      switch self.dependency(id) {
      case .met: break
      case .open(let target): if !open.contains(target) { open.append(target) }
      case .failed: ended = ended ?? id
      case .unknown: if !unknown.contains(id) { unknown.append(id) }
      }
    }
    if !unknown.isEmpty { throw .unknownDependencies(unknown) }
    if let ended { throw .ended(ended) }
    return open
  }

  private enum Dependency {
    case met
    case open(UUID)
    case failed
    case unknown
  }

  /// The state of a mutation that another one depends on. A superseded one counts as its successor
  /// does; if what the server has superseded it, it counts as succeeded.
  private func dependency(_ id: UUID) -> Dependency {
    var id = id
    while true {
      if self.index(of: id) != nil { return .open(id) }
      guard let past = self.ended(id) else { return .unknown }
      switch past.outcome {
      case .succeeded: return .met
      case .cancelled, .discarded: return .failed
      case .superseded:
        guard let successor = past.record.successor else { return .met }
        id = successor
      }
    }
  }
}

// MARK: - Coalescing

extension OutboxTable {
  /// Supersedes the mutation that a new one replaces, if there is one: the last live one of its
  /// lane, of the same name and instance, never tried, and without dependants. The new one inherits
  /// its dependencies.
  private mutating func supersede(
    by row: inout OutboxRow,
    _ mutation: NewMutation,
    at time: OutboxTime
  ) -> UUID? {
    guard mutation.coalesce == .latest, let lane = mutation.lane,
      let index = self.rows.lastIndex(where: { $0.entry.lane == lane && $0.isLive })
    else { return nil }
    let old = self.rows[index]
    let hasDependants =
      row.dependencies.contains(old.entry.id)
      || self.rows.contains { $0.dependencies.contains(old.entry.id) }
    guard old.entry.name == mutation.name, old.entry.instance == mutation.instance,
      old.entry.state == .pending, old.entry.attempts == 0, !hasDependants
    else { return nil }
    for id in old.dependencies where !row.dependencies.contains(id) { row.dependencies.append(id) }
    self.end(at: index, .superseded, successor: mutation.id, time)
    self.effects.events.append(.superseded(old.entry.id, by: mutation.id))
    return old.entry.id
  }
}
