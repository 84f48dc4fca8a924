import FoundationEssentials
import Query

/// The outbox of a ``SQLiteQueryStorage``.
final class SQLiteOutbox: MutationOutbox {
  let database: OutboxDatabase
  let partition: OutboxPartition
  private let isClosed = Locked(false)

  /// Makes the outbox of a partition. It opens no file that does not exist.
  ///
  /// - Parameters:
  ///   - folder: The absolute path of the folder.
  ///   - name: The name of the account.
  ///   - configuration: The settings of the storage.
  ///   - hooks: Report events of the file, and invalidate the cache.
  /// - Throws: `StorageError` for a fault that the user must mend.
  init(
    folder: String,
    partition name: String,
    _ configuration: SQLiteStorageConfiguration,
    _ hooks: OutboxPartition.Hooks
  ) throws {
    (self.database, self.partition) = try OutboxDatabase.open(
      folder: folder, partition: name, configuration)
    self.partition.hooks = hooks
    self.database.prepare(self.partition)
  }

  deinit { self.release(completion: nil) }

  /// Ends the use of the file. A second call does nothing.
  ///
  /// - Parameter completion: Called when the pending writes are done.
  func release(completion: (@Sendable (Result<Void, any Error>) -> Void)?) {
    let isFirst = self.isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    guard isFirst else {
      completion?(.success(()))
      return
    }
    // Those that wait for a mutation would wait for ever, and find it closed when they read again.
    self.partition.subscribers.send([.changedByAnotherProcess])
    self.database.release(self.partition, completion: completion)
  }

  /// Removes all rows of the partition, and their bytes.
  ///
  /// - Throws: `StorageError`.
  func erase() async throws {
    try self.requireOpen()
    try await self.database.erase(self.partition)
  }

  private func requireOpen() throws(StorageError) {
    if self.isClosed.withLock({ $0 }) { throw OutboxDatabase.closed }
  }

  /// The accounts that have live or dead mutations, in the order of their names.
  ///
  /// - Throws: `StorageError`.
  func accounts() throws -> [(name: String, counts: OutboxCounts)] {
    try self.read { try $0.accounts() } ?? []
  }

  private func read<Value>(_ body: (OutboxTables) throws -> Value) throws -> Value? {
    try self.requireOpen()
    return try self.database.read(self.partition, body)
  }

  private func write<Value: Sendable>(
    needsOwner: Bool = false,
    _ body: @escaping @Sendable (inout OutboxTransaction) throws -> Value
  ) async throws -> Value {
    try self.requireOpen()
    return try await self.database.write(in: self.partition, needsOwner: needsOwner, body)
  }
}

// MARK: - Reading

extension SQLiteOutbox {
  /// How many rows are read in one read transaction: the WAL cannot be restarted while one lasts.
  private static let rowsPerRead = 4_096

  func entries(in state: OutboxEntry.State?) throws -> [OutboxEntry] {
    var entries = [OutboxEntry]()
    var next: Int64? = 0
    while let number = next {
      let chunk = try self.read {
        try $0.entries(in: state, after: number, limit: Self.rowsPerRead)
      }
      entries += chunk?.entries ?? []
      next = chunk?.last
    }
    return entries
  }

  func entry(_ id: UUID) throws -> OutboxEntry? {
    let entry = try self.read { tables in try tables.row(id)?.entry(tables.view) }
    return entry ?? nil
  }

  func attempts(of id: UUID) throws -> [OutboxAttempt] {
    try self.read { try $0.attempts(of: id) } ?? []
  }

  func why(_ id: UUID) throws -> String {
    guard let clause = try self.read({ try $0.clause(of: id) }) else {
      throw OutboxError.unknown(id)
    }
    return "\(clause)"
  }

  var counts: OutboxCounts {
    get throws { try self.read { try $0.counts() } ?? OutboxCounts() }
  }

  func forgottenEnd(
    of id: UUID
  ) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    try self.read { try $0.forgottenEnd(of: id) } ?? nil
  }

  func countsByHost() throws -> [String: OutboxCounts] {
    try self.read { try $0.countsByHost() } ?? [:]
  }

  func pendingKinds() throws -> [OutboxKind: Int] {
    try self.read { try $0.pendingKinds() } ?? [:]
  }

  var pauses: [OutboxPause: Date] {
    get throws { try self.read { $0.view.pauses } ?? [:] }
  }

  func standing(of id: UUID) throws -> MutationStanding {
    try self.read { try $0.standing(of: id) } ?? .unknown
  }

  func history(of name: String, instance: String) throws -> [RecordedMutation] {
    let limit = self.database.configuration.mutationHistory.perMutation
    return try self.read {
      try $0.history(of: name.canonicallyComposed, instance: instance, limit: limit)
    } ?? []
  }

  func history(
    of name: String, instance: String, newest limit: Int
  ) throws -> [RecordedMutation] {
    let kept = self.database.configuration.mutationHistory.perMutation
    return try self.read {
      try $0.history(
        of: name.canonicallyComposed, instance: instance, limit: kept, newest: limit)
    } ?? []
  }

  var endedSequence: Int64 { self.partition.endedSequence }

  func log(
    of handlers: Set<MutationHandler>, endedAfter sequence: Int64
  ) throws -> MutationLog {
    let log = try self.read { try $0.log(of: handlers, endedAfter: sequence) }
    guard let log else { return MutationLog(sequence: 0, records: []) }
    self.partition.noteEnded(log.sequence)
    return log
  }

  func standings(of ids: [UUID]) throws -> [MutationStanding] {
    try self.read { tables in try ids.map { try tables.standing(of: $0) } }
      ?? ids.map { _ in .unknown }
  }

  func value(ofAlias alias: String) throws -> String? {
    let value = try self.read { try $0.value(ofAlias: alias) }
    return value ?? nil
  }

  func subscribe(_ handler: @escaping @Sendable (OutboxEvent) -> Void) -> QuerySubscription {
    if self.isClosed.withLock({ $0 }) { return .empty }
    self.database.start()
    return self.partition.subscribers.subscribe(handler)
  }
}

// MARK: - Writing

extension SQLiteOutbox {
  func enqueue(_ mutation: NewMutation, claiming: Bool) async throws -> EnqueuedMutation {
    if mutation.bodies.isEmpty {
      try self.requireRoom(for: mutation.arguments, "enqueue")
      return try await self.write(needsOwner: claiming) {
        try $0.enqueue(mutation, claiming: claiming)
      }
    }
    let enqueued = try await self.copyingFiles(of: [mutation]) { mutations in
      try await self.write(needsOwner: claiming) {
        [try $0.enqueue(mutations[0], claiming: claiming)]
      }
    }
    return enqueued[0]
  }

  func enqueue(_ mutations: [NewMutation]) async throws -> [EnqueuedMutation] {
    if mutations.isEmpty { return [] }
    return try await self.copyingFiles(of: mutations) { mutations in
      try await self.write { changes in
        try mutations.map { try changes.enqueue($0, claiming: false) }
      }
    }
  }

  /// Copies the files of mutations before the rows are committed, and keeps the copies locked until then.
  /// Copies that no row refers to in the end are removed.
  private func copyingFiles(
    of mutations: [NewMutation],
    _ commit: ([NewMutation]) async throws -> [EnqueuedMutation]
  ) async throws -> [EnqueuedMutation] {
    for mutation in mutations { try self.requireRoom(for: mutation.arguments, "enqueue") }
    if mutations.allSatisfy({ $0.bodies.isEmpty }) { return try await commit(mutations) }
    var (copied, copies) = (mutations, [Int: BodyCopies]())
    defer { withExtendedLifetime(copies) {} }
    do {
      for (index, mutation) in mutations.enumerated() where !mutation.bodies.isEmpty {
        if try self.hasFiles(of: mutation) { continue }
        let own = try await self.database.bodies.copy(mutation.bodies)
        copies[index] = own
        copied[index].bodyFile = own.names
      }
      let enqueued = try await commit(copied)
      for (index, own) in copies where enqueued[index].isOld { own.remove() }
      return enqueued
    } catch {
      for (index, own) in copies where self.isLeft(own, by: mutations[index].id) { own.remove() }
      throw error
    }
  }

  /// Whether no row refers to these copies: a commit that was reported as failed may have been made. If the
  /// row cannot be read now, the next opening of the file cleans up.
  private func isLeft(_ copies: BodyCopies, by id: UUID) -> Bool {
    do {
      let names = try self.read { tables in try tables.row(id)?.bodyFile }
      return (names ?? nil) != copies.names
    } catch {
      return false
    }
  }

  func bodies(of id: UUID) async throws -> [URL] {
    let found = try self.read { tables in try tables.row(id)?.bodyFile }
    return try await self.database.bodies.check(found ?? nil)
  }

  private func requireRoom(for arguments: Data, _ operation: String) throws(StorageError) {
    try self.requireOpen()
    try StorageError.requireRoom(
      for: arguments, limit: self.database.configuration.maximumValueBytes, operation: operation,
      fileName: DatabaseKind.mutations.fileName)
  }

  func claim(_ request: ClaimRequest) async throws -> ClaimAnswer {
    if case .lowest(let handlers) = request.target { self.partition.handlers = handlers }
    return try await self.write(needsOwner: true) { try $0.claim(request) }
  }

  func settle(_ lease: MutationLease, _ outcome: AttemptOutcome) async throws -> Bool {
    let invalidates =
      switch outcome {
      case .succeeded(let success): success.invalidates
      case .failed(let failure): failure.invalidates
      case .cancelled: [QueryPath]()
      }
    let effects = OutboxEffects.text(of: invalidates)
    return try await self.write { [effects] in
      try $0.settle(lease, outcome, effects: effects)
    }
  }

  func retry(_ id: UUID, newKey: Bool) async throws -> Bool {
    let isOvertaken = try await self.write { try $0.retry(id, arguments: nil, newKey: newKey) }
    self.partition.hooks?.show(.retried(id))
    return isOvertaken
  }

  func retry(
    _ id: UUID, withArguments arguments: Data, version: Int?, editedPaths: EditedPaths?
  ) async throws -> Bool {
    try self.requireRoom(for: arguments, "retry")
    let isOvertaken = try await self.write {
      try $0.retry(
        id, arguments: arguments, version: version, editedPaths: editedPaths, newKey: true)
    }
    self.partition.hooks?.show(.rewritten)
    return isOvertaken
  }

  func discard(_ id: UUID) async throws {
    let maybeApplied = try await self.write {
      let maybeApplied = try $0.requireRow(id).standing.maybeApplied
      try $0.discard(id)
      return maybeApplied
    }
    self.partition.hooks?.show(.ended(id, maybeApplied: maybeApplied))
  }

  func cancel(_ id: UUID) async throws -> Bool {
    let (hasEnded, maybeApplied) = try await self.write {
      let maybeApplied = try $0.requireRow(id).standing.maybeApplied
      return (try $0.cancel(id), maybeApplied)
    }
    if hasEnded { self.partition.hooks?.show(.ended(id, maybeApplied: maybeApplied)) }
    return hasEnded
  }

  func pause(_ pause: OutboxPause) async throws {
    try await self.write { try $0.set(pause, isPaused: true) }
  }

  func resume(_ pause: OutboxPause) async throws {
    try await self.write { try $0.set(pause, isPaused: false) }
  }

  func clearHistory(of name: String, instance: String) async throws {
    let (name, rows) = (name.canonicallyComposed, self.database.configuration.stepRows)
    var isDone = false
    while !isDone {
      isDone = try await self.write {
        try $0.clearHistory(of: name, instance: instance, $0.connection.stepBudget(rows: rows))
      }
      if !isDone { await Self.letOthersWrite() }
    }
  }

  func release(_ reason: MutationWaitReason) async throws {
    let rows = self.database.configuration.stepRows
    var next: Int64? = 0
    while let last = next {
      if last > 0 { await Self.letOthersWrite() }
      next = try await self.write {
        try $0.release(reason, after: last, $0.connection.stepBudget(rows: rows))
      }
    }
  }

  /// Waits between two transactions of one caller, so that other processes get the write lock.
  private static func letOthersWrite() async { try? await Task.sleep(for: .milliseconds(5)) }
}
