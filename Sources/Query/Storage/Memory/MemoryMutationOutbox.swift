import FoundationEssentials

/// The outbox of a ``MemoryQueryStorage``: an ``OutboxTable`` behind a lock.
///
/// Locking: the table has its own lock, under which events are posted, so that they keep the order
/// of the commits, and no callback runs.
final class MemoryMutationOutbox: MutationOutbox {
  private struct Guarded {
    var table: OutboxTable
    var isClosed = false

    func requireOpen(_ operation: String) throws(StorageError) {
      guard self.isClosed else { return }
      throw StorageError(
        operation: operation, code: .misuse, message: "the storage is closed")
    }
  }

  private let guarded: Locked<Guarded>
  private let hub = RecipientList<OutboxEvent>()
  private let clock: OutboxClock
  private let maximumArgumentBytes: Int
  private let bodies = TemporaryBodies()

  /// The values beside an outbox, as its edits concern them.
  struct Values: Sendable {
    /// Whether a stored value lacks an edit that was acknowledged with a sequence.
    var isMissing: @Sendable (EditedPaths, Int64) -> Bool = { _, _ in false }
    var invalidate: @Sendable (EditedPaths) -> Void = { _ in }
    /// Invalidates the values that lack edits whose mutations the outbox has forgotten, once what waits to be
    /// written is stored.
    var forget: @Sendable ([EditedPaths: Int64]) -> Void = { _ in }
    /// Lets the clients show what a call has made of a mutation.
    var show: @Sendable (MutationChange) -> Void = { _ in }
  }

  private let values: Values

  /// Creates an empty outbox.
  init(
    limits: MutationHistoryLimits, maximumArgumentBytes: Int, clock: OutboxClock,
    values: Values = Values()
  ) {
    self.maximumArgumentBytes = maximumArgumentBytes
    self.guarded = Locked(
      Guarded(table: OutboxTable(limits: limits, isMissing: values.isMissing)))
    self.clock = clock
    self.values = values
  }

  /// Makes a transition, and notifies others after the lock is released.
  ///
  /// - Throws: What the transition throws; `StorageError` if the storage is closed.
  private func change<Result: Sendable>(
    _ operation: String,
    _ transition: (inout OutboxTable, OutboxTime) throws -> Result
  ) throws -> Result {
    let (result, effects) = try self.guarded.withLock { guarded in
      try guarded.requireOpen(operation)
      let now = self.clock.now()
      // A transition that throws has changed nothing.
      let before = guarded.table.hasOverdue(at: now) ? guarded.table : nil
      guarded.table.expire(at: now)
      let result: Result
      do {
        result = try transition(&guarded.table, now)
        // What ran until now may be too old to wait again.
        guarded.table.expire(at: now)
      } catch {
        if let before { guarded.table = before }
        throw error
      }
      let effects = guarded.table.takeEffects()
      self.hub.post(effects.events)
      return (result, effects)
    }
    for revocation in effects.revocations { revocation.lease.revoke(revocation.reason) }
    for name in effects.bodyFiles { self.bodies.folder.remove(name) }
    for paths in effects.missedPaths { self.values.invalidate(paths) }
    if !effects.forgottenEdits.isEmpty { self.values.forget(effects.forgottenEdits) }
    self.hub.deliver()
    return result
  }

  private func read<Result: Sendable>(
    _ operation: String,
    _ body: (OutboxTable, OutboxTime) throws -> Result
  ) throws -> Result {
    try self.guarded.withLock { guarded in
      try guarded.requireOpen(operation)
      return try body(guarded.table, self.clock.now())
    }
  }

  /// Erases everything, and revokes the leases of running mutations.
  func erase() throws { try self.change("erase") { table, _ in table.erase() } }

  /// Lets every later call throw, and those that wait for a mutation find that out.
  func close() {
    self.guarded.withLock { $0.isClosed = true }
    self.hub.post([.changedByAnotherProcess])
    self.hub.deliver()
  }
}

// MARK: - Reading

extension MemoryMutationOutbox {
  func entries(in state: OutboxEntry.State?) throws -> [OutboxEntry] {
    try self.read("entries") { table, time in table.entries(in: state, at: time) }
  }

  func entry(_ id: UUID) throws -> OutboxEntry? {
    try self.read("entry") { table, time in table.entry(id, at: time) }
  }

  func attempts(of id: UUID) throws -> [OutboxAttempt] {
    try self.read("attempts") { table, _ in table.attempts[id] ?? [] }
  }

  func why(_ id: UUID) throws -> String {
    try self.read("why") { table, time in try table.clause(of: id, at: time).description }
  }

  var counts: OutboxCounts {
    get throws { try self.read("counts") { table, _ in table.counts } }
  }

  func forgottenEnd(
    of id: UUID
  ) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    try self.read("standing") { table, _ in
      table.forgotten[id].map { (outcome: $0.outcome, successor: $0.successor) }
    }
  }

  func countsByHost() throws -> [String: OutboxCounts] {
    try self.read("counts") { table, _ in table.countsByHost }
  }

  func pendingKinds() throws -> [OutboxKind: Int] {
    try self.read("kinds") { table, _ in table.pendingKinds }
  }

  var pauses: [OutboxPause: Date] {
    get throws { try self.read("pauses") { table, _ in table.pauses } }
  }

  func standing(of id: UUID) throws -> MutationStanding {
    try self.read("standing") { table, time in table.standing(of: id, at: time) }
  }

  func history(of name: String, instance: String) throws -> [RecordedMutation] {
    try self.read("history") { table, time in
      table.history(of: name, instance: instance, at: time)
    }
  }

  var endedSequence: Int64 { self.guarded.withLock { Int64($0.table.lastSequence) } }

  func log(
    of handlers: Set<MutationHandler>, endedAfter sequence: Int64
  ) throws -> MutationLog {
    try self.read("log") { table, time in
      table.log(of: handlers, endedAfter: sequence, at: time)
    }
  }

  func standings(of ids: [UUID]) throws -> [MutationStanding] {
    try self.read("standings") { table, time in ids.map { table.standing(of: $0, at: time) } }
  }

  func value(ofAlias alias: String) throws -> String? {
    try self.read("alias") { table, _ in table.aliases[alias]?.value }
  }

  func subscribe(
    _ handler: @escaping @Sendable (OutboxEvent) -> Void
  ) -> QuerySubscription {
    self.hub.subscribe(handler)
  }
}

// MARK: - Writing

extension MemoryMutationOutbox {
  func retry(_ id: UUID, newKey: Bool) async throws -> Bool {
    let key = newKey ? UUID.random().uuidString : nil
    let isOvertaken = try self.change("retry") { table, time in
      try table.retry(id, key: key, at: time)
    }
    self.values.show(.retried(id))
    return isOvertaken
  }

  func retry(
    _ id: UUID, withArguments arguments: Data, version: Int?, editedPaths: EditedPaths?
  ) async throws -> Bool {
    try self.requireRoom(for: arguments, "retry")
    let key = UUID.random().uuidString
    let isOvertaken = try self.change("retry") { table, time in
      try table.retry(
        id, key: key, arguments: arguments, version: version, editedPaths: editedPaths, at: time)
    }
    self.values.show(.rewritten)
    return isOvertaken
  }

  func discard(_ id: UUID) async throws {
    let maybeApplied = try self.change("discard") { table, time in
      let maybeApplied = table.entry(id, at: time)?.maybeApplied ?? false
      try table.discard(id, at: time)
      return maybeApplied
    }
    self.values.show(.ended(id, maybeApplied: maybeApplied))
  }

  func cancel(_ id: UUID) async throws -> Bool {
    let (hasEnded, maybeApplied) = try self.change("cancel") { table, time in
      let maybeApplied = table.entry(id, at: time)?.maybeApplied ?? false
      return (try table.cancel(id, at: time), maybeApplied)
    }
    if hasEnded { self.values.show(.ended(id, maybeApplied: maybeApplied)) }
    return hasEnded
  }

  func pause(_ pause: OutboxPause) async throws {
    try self.change("pause") { table, time in table.pause(pause, at: time) }
  }

  func resume(_ pause: OutboxPause) async throws {
    try self.change("resume") { table, _ in table.resume(pause) }
  }

  func release(_ reason: MutationWaitReason) async throws {
    try self.change("release") { table, time in table.release(reason, at: time) }
  }

  func enqueue(_ mutation: NewMutation, claiming: Bool) async throws -> EnqueuedMutation {
    let enqueued = try await self.copyingFiles(of: [mutation]) { mutations in
      try self.change("enqueue") { table, time in
        [try table.enqueue(mutations[0], claiming: claiming, at: time)]
      }
    }
    return enqueued[0]
  }

  func enqueue(_ mutations: [NewMutation]) async throws -> [EnqueuedMutation] {
    try await self.copyingFiles(of: mutations) { mutations in
      try self.change("enqueue") { table, time in try table.enqueue(mutations, at: time) }
    }
  }

  /// Copies the files of mutations, and removes again those that no row has got.
  private func copyingFiles(
    of mutations: [NewMutation], _ commit: ([NewMutation]) throws -> [EnqueuedMutation]
  ) async throws -> [EnqueuedMutation] {
    for mutation in mutations { try self.requireRoom(for: mutation.arguments, "enqueue") }
    var (copied, copies) = (mutations, [Int: BodyCopies]())
    do {
      for (index, mutation) in mutations.enumerated() where !mutation.bodies.isEmpty {
        if try self.hasFiles(of: mutation) { continue }
        let own = try await self.bodies.folder.copy(mutation.bodies)
        copies[index] = own
        copied[index].bodyFile = own.names
      }
      let enqueued = try commit(copied)
      for (index, own) in copies where enqueued[index].isOld { own.remove() }
      return enqueued
    } catch {
      for own in copies.values { own.remove() }
      throw error
    }
  }

  func bodies(of id: UUID) async throws -> [URL] {
    let names = try self.read("bodies") { table, _ in
      table.index(of: id).flatMap { table.rows[$0].bodyFile }
    }
    return try await self.bodies.folder.check(names)
  }

  private func requireRoom(for arguments: Data, _ operation: String) throws {
    try self.guarded.withLock { try $0.requireOpen(operation) }
    try StorageError.requireRoom(
      for: arguments, limit: self.maximumArgumentBytes, operation: operation)
  }

  func claim(_ request: ClaimRequest) async throws -> ClaimAnswer {
    try self.change("claim") { table, time in table.claim(request, at: time) }
  }

  func settle(_ lease: MutationLease, _ outcome: AttemptOutcome) async throws -> Bool {
    try self.change("settle") { table, time in table.settle(lease, outcome, at: time) }
  }

  func clearHistory(of name: String, instance: String) async throws {
    try self.change("clear history") { table, _ in
      table.clearHistory(of: name, instance: instance)
    }
  }
}
