import Foundation

// MARK: - Enqueueing

extension OutboxTable: OutboxLookup {
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
    let dependencies: [UUID] = try self.openDependencies(of: mutation)
    self.lastNumber += 1
    var row = OutboxRow(
      entry: OutboxEntry(mutation, number: self.lastNumber, createdAt: time.wall),
      standing: OutboxStanding(mutation), age: OutboxAge(from: time), dependencies: dependencies)
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

  func row(of id: UUID) -> UUID? { self.index(of: id) == nil ? nil : id }

  func end(of id: UUID) -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    self.ended(id).map { ($0.outcome, $0.record.successor) }
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
    guard let lane = mutation.lane,
      let index = self.rows.lastIndex(where: { $0.entry.lane == lane && $0.isLive })
    else { return nil }
    let old = self.rows[index]
    let hasDependants =
      row.dependencies.contains(old.entry.id)
      || self.rows.contains { $0.dependencies.contains(old.entry.id) }
    guard !hasDependants,
      mutation.replaces(name: old.entry.name, instance: old.entry.instance, old.standing)
    else { return nil }
    for id in old.dependencies where !row.dependencies.contains(id) { row.dependencies.append(id) }
    self.end(at: index, .superseded, successor: mutation.id, time)
    return old.entry.id
  }
}
