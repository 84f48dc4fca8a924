public import FoundationEssentials

/// The mutations of a storage that no server has acknowledged yet, and the history of those that
/// ended: `storage.outbox`.
///
/// ```swift
/// for entry in try storage.outbox.entries(in: .dead) {
///   print(entry.name, entry.deadReason, try storage.outbox.why(entry.id))
/// }
/// try await storage.outbox.retry(entry.id)
/// ```
/// Reads are synchronous and throw ``StorageError``; writes return when they are committed, and throw
/// ``StorageError`` or ``OutboxError``. The requirements from ``enqueue(_:claiming:)`` on are what the
/// engine needs of a storage; applications have `store.enqueue`, tickets and the replayer.
public protocol MutationOutbox: Sendable {
  /// The live and dead mutations, in the order of enqueueing.
  ///
  /// - Parameter state: Only mutations in this state; nil: all.
  func entries(in state: OutboxEntry.State?) throws -> [OutboxEntry]

  /// A mutation that is live or dead; nil if there is none of this identifier.
  func entry(_ id: UUID) throws -> OutboxEntry?

  /// The last 20 attempts of a mutation, live, dead or ended, the oldest first.
  func attempts(of id: UUID) throws -> [OutboxAttempt]

  /// The clause that keeps a mutation from running, in words.
  ///
  /// - Throws: ``OutboxError/unknown(_:)``; ``StorageError``.
  func why(_ id: UUID) throws -> String

  /// Makes a dead mutation live again, or a mutation that waits for a time or credentials due at
  /// once.
  ///
  /// - Parameters:
  ///   - id: The mutation.
  ///   - newKey: Whether it gets a new key: then the server cannot recognise the earlier attempts.
  /// - Returns: Whether mutations behind it in its lane have run, so that it is out of order.
  /// - Throws: ``OutboxError``; ``StorageError``.
  @discardableResult
  func retry(_ id: UUID, newKey: Bool) async throws -> Bool

  /// Makes a mutation live again with other arguments, under a new key.
  ///
  /// - Parameters:
  ///   - id: The mutation, which must not be running.
  ///   - arguments: The coded arguments, by the coder of the row.
  ///   - version: Their version; nil: that of the row.
  ///   - editedPaths: The paths of the queries that its edits change with these arguments; nil: those that the
  ///     row names.
  /// - Returns: Whether mutations behind it in its lane have run, so that it is out of order.
  /// - Throws: ``OutboxError``; ``StorageError``.
  @discardableResult
  func retry(
    _ id: UUID, withArguments arguments: Data, version: Int?, editedPaths: EditedPaths?
  ) async throws -> Bool

  /// Ends a dead mutation. Those that depend on it become dead.
  ///
  /// - Throws: ``OutboxError``; ``StorageError``.
  func discard(_ id: UUID) async throws

  /// Ends a pending mutation, or asks the process that runs it to end it.
  ///
  /// - Returns: Whether it has ended. A process that runs it sees the request at once, and within a third
  ///   of a lease at the latest; it may be too late.
  /// - Throws: ``OutboxError/ended(_:)`` if it is too late; ``StorageError``.
  @discardableResult
  func cancel(_ id: UUID) async throws -> Bool

  /// Lets nothing of a lane, a name, a host, or all, be sent by any process of the partition, until
  /// ``resume(_:)``. What runs goes on.
  ///
  /// - Throws: ``StorageError``.
  func pause(_ pause: OutboxPause) async throws

  /// Ends a pause; does nothing if there is none. Others go on.
  ///
  /// - Throws: ``StorageError``.
  func resume(_ pause: OutboxPause) async throws

  /// The pauses, and since when each is, by the wall clock.
  var pauses: [OutboxPause: Date] { get throws }

  /// How many mutations there are.
  var counts: OutboxCounts { get throws }

  /// How many mutations there are of each host, as ``OutboxEntry/effectiveHost`` has it.
  ///
  /// - Complexity: O(*n*) in the number of mutations.
  func countsByHost() throws -> [String: OutboxCounts]

  /// How many pending mutations there are of each kind, without reading their arguments.
  ///
  /// - Complexity: O(*n*) in the number of mutations; the memory is that of the kinds.
  func pendingKinds() throws -> [OutboxKind: Int]

  // MARK: - For the engine

  /// Commits a mutation, and leases it to this process in the same commit if it may run now. Its files
  /// are copied before that, and the copies are on the disk.
  ///
  /// - Parameters:
  ///   - mutation: The mutation.
  ///   - claiming: Whether to lease it if it may run now: no earlier live one in its lane,
  ///     dependencies succeeded, no pause.
  /// - Throws: ``OutboxError/unknownDependencies(_:)``, and only then ``OutboxError/ended(_:)`` of a
  ///   dependency; ``MutationBodyError/notAFile(path:)``; ``StorageError``: constraint if the
  ///   identifier is taken, too big if the arguments are. Nothing is stored then.
  func enqueue(_ mutation: NewMutation, claiming: Bool) async throws -> EnqueuedMutation

  /// Commits several mutations together, in their order, each as by ``enqueue(_:claiming:)`` without
  /// claiming: all or none. Later ones may depend on earlier ones.
  ///
  /// - Throws: As ``enqueue(_:claiming:)``. Nothing is stored then.
  func enqueue(_ mutations: [NewMutation]) async throws -> [EnqueuedMutation]

  /// Leases mutations that may run now, the lowest number first, after taking back the rows of
  /// processes that have exited.
  func claim(_ request: ClaimRequest) async throws -> ClaimAnswer

  /// Records how an attempt ended, and ends its lease.
  ///
  /// - Returns: Whether this lease still held; if not, nothing was changed.
  func settle(_ lease: MutationLease, _ outcome: AttemptOutcome) async throws -> Bool

  /// What became of a mutation.
  func standing(of id: UUID) throws -> MutationStanding

  /// The mutations of a name and instance: the newest that ended, as many as are kept, and all that
  /// are live or dead, in the order of enqueueing.
  func history(of name: String, instance: String) throws -> [RecordedMutation]

  /// The newest of ``history(of:instance:)``, in the same order.
  ///
  /// - Parameters:
  ///   - name: The name that the mutations were persisted as.
  ///   - instance: The instance of their request.
  ///   - limit: How many, at most. No more rows of the live and dead ones are read.
  func history(
    of name: String, instance: String, newest limit: Int
  ) throws -> [RecordedMutation]

  /// How a mutation ended that the history has forgotten, and which one superseded it; nil if that is not
  /// remembered either.
  func forgottenEnd(
    of id: UUID
  ) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)?

  /// What became of several mutations, in their order, read in one go.
  func standings(of ids: [UUID]) throws -> [MutationStanding]

  /// The newest end of a mutation that this process knows: a number that grows with each. From memory,
  /// without a read; it never is greater than that of what has ended.
  var endedSequence: Int64 { get }

  /// The mutations of some names and instances that are live or dead, and those that ended after
  /// another one, as ``RecordedMutation/sequence`` counts: all read at one moment.
  ///
  /// - Parameters:
  ///   - handlers: Their names and instances; versions do not matter.
  ///   - sequence: The end before.
  func log(
    of handlers: Set<MutationHandler>, endedAfter sequence: Int64
  ) throws -> MutationLog

  /// Removes the ended mutations of a name and instance from the history.
  func clearHistory(of name: String, instance: String) async throws

  /// The value that a mutation has published for an alias.
  func value(ofAlias alias: String) throws -> String?

  /// Releases lanes that wait for other credentials, those that wait after a failed connection, or those
  /// whose mutation no program could read.
  func release(_ reason: MutationWaitReason) async throws

  /// The copies of the files that go with a live or dead mutation, in the order in which they were
  /// given, after a check that none has changed. They are removed with the mutation.
  ///
  /// - Throws: ``MutationBodyError/damaged(name:)``; ``StorageError``.
  func bodies(of id: UUID) async throws -> [URL]

  /// Calls a handler after each commit that changed the outbox, of this process or another one, off
  /// every lock.
  func subscribe(_ handler: @escaping @Sendable (OutboxEvent) -> Void) -> QuerySubscription
}

/// What decides which handler can run a mutation.
public struct OutboxKind: Hashable, Sendable {
  /// The name that it was persisted as.
  public var name: String
  /// The instance of its request.
  public var instance: String
  /// The version of its arguments.
  public var version: Int

  /// Creates a kind. See the properties for what each is.
  public init(name: String, instance: String, version: Int) {
    self.name = name
    self.instance = instance
    self.version = version
  }
}

extension OutboxEntry {
  /// What decides which handler can run it.
  public var kind: OutboxKind {
    OutboxKind(name: self.name, instance: self.instance, version: self.version)
  }
}

extension MutationHandler {
  /// Whether it can run mutations of a kind.
  package func canRun(_ kind: OutboxKind) -> Bool {
    self.name == kind.name && self.instance == kind.instance
      && (self.version == kind.version || self.upgradesOlder && kind.version < self.version)
  }
}

extension MutationOutbox {
  /// By reading all pending mutations.
  public func pendingKinds() throws -> [OutboxKind: Int] {
    try self.entries(in: .pending).reduce(into: [:]) { $0[$1.kind, default: 0] += 1 }
  }

  /// Whether the outbox has had a mutation, and its files with it, so that they are not needed again: they may be
  /// gone by now.
  package func hasFiles(of mutation: NewMutation) throws -> Bool {
    guard mutation.isRepeatable else { return false }
    if case .unknown = try self.standing(of: mutation.id) {
      return try self.forgottenEnd(of: mutation.id) != nil
    }
    return true
  }

  /// The live and dead mutations, in the order of enqueueing.
  public func entries() throws -> [OutboxEntry] { try self.entries(in: nil) }

  /// Makes a dead mutation live again, and a waiting one due at once, with its existing key.
  ///
  /// - Returns: Whether mutations behind it in its lane have run, so that it is out of order.
  /// - Throws: ``OutboxError``; ``StorageError``.
  @discardableResult
  public func retry(_ id: UUID) async throws -> Bool { try await self.retry(id, newKey: false) }

  /// Makes a mutation live again with other arguments, under a new key.
  ///
  /// The row goes on naming the queries that its edits changed with the old arguments, which only the mutation's
  /// code knows better: ``QueryStore/retry(_:with:)``.
  ///
  /// - Parameters:
  ///   - id: The mutation, which must not be running.
  ///   - arguments: The coded arguments, by the coder of the row.
  ///   - version: Their version; nil: that of the row.
  /// - Returns: Whether mutations behind it in its lane have run, so that it is out of order.
  /// - Throws: ``OutboxError``; ``StorageError``.
  @discardableResult
  public func retry(
    _ id: UUID, withArguments arguments: Data, version: Int? = nil
  ) async throws -> Bool {
    try await self.retry(id, withArguments: arguments, version: version, editedPaths: nil)
  }

  /// The end of ``history(of:instance:)``.
  public func history(
    of name: String, instance: String, newest limit: Int
  ) throws -> [RecordedMutation] {
    try self.history(of: name, instance: instance).suffix(limit)
  }

  /// Reads each by itself.
  public func standings(of ids: [UUID]) throws -> [MutationStanding] {
    try ids.map { try self.standing(of: $0) }
  }

  /// Lets nothing be sent, by any process of the partition, until ``resume()``. What runs goes on.
  ///
  /// - Throws: ``StorageError``.
  public func pause() async throws { try await self.pause(.everything) }

  /// Ends the pause of everything. Those of lanes, names and hosts go on.
  ///
  /// - Throws: ``StorageError``.
  public func resume() async throws { try await self.resume(.everything) }

  /// The counts now, and after each change, other processes' too.
  public var changes: OutboxChanges { OutboxChanges(of: self) }
}

/// What an outbox refuses.
public enum OutboxError: Error, Hashable, Sendable {
  /// There is no live or dead mutation of this identifier.
  case unknown(UUID)
  /// It runs, so it cannot be changed now.
  case running(UUID)
  /// It ended already.
  case ended(UUID)
  /// It is not dead: cancel it.
  case notDead(UUID)
  /// A mutation depends on others that this partition does not know.
  case unknownDependencies([UUID])
  /// An alias is an identifier that is never reused, and was published with another value.
  case aliasTaken(String)
  /// Its arguments were coded by another coder, so it cannot be given any of this one. Discard it, and
  /// enqueue another.
  case otherCoder(UUID, name: String)
}

extension OutboxError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknown(let id):
      "There is no live or dead mutation \(id): it has ended, or is another account's."
    case .running(let id):
      "The mutation \(id) runs at the moment. Wait until its attempt has ended."
    case .ended(let id): "The mutation \(id) has ended. Enqueue another one."
    case .notDead(let id): "The mutation \(id) is not dead; cancel it."
    case .unknownDependencies(let ids):
      """
      There are no mutations \(ids.map(\.uuidString).joined(separator: ", ")) to depend on. Enqueue them \
      first, in the same account.
      """
    case .otherCoder(let id, let name):
      """
      The arguments of the mutation \(id) were coded by another coder, \(name). Discard it, and enqueue \
      another.
      """
    case .aliasTaken(let alias):
      """
      The alias \(alias) was published with another value. Make each alias of an identifier that is never \
      used again.
      """
    }
  }
}

/// What changed in an outbox.
public enum OutboxEvent: Hashable, Sendable {
  /// Another process changed something, or a storage of these mutations was closed: what is known of them is
  /// to be read again.
  case changedByAnotherProcess
  /// A mutation was committed.
  case enqueued(UUID)
  /// A mutation was leased by this process.
  case claimed(UUID)
  /// A mutation of a process that has exited is pending again.
  case reaped(UUID)
  /// A mutation is pending again: an attempt failed, or a caller retried it.
  case pending(UUID)
  /// A mutation succeeded.
  case succeeded(UUID)
  /// A mutation is dead.
  case dead(UUID, MutationDeadReason)
  /// A mutation was cancelled.
  case cancelled(UUID)
  /// A mutation was superseded, by another one or by what the server has.
  case superseded(UUID, by: UUID?)
  /// A dead mutation was discarded.
  case discarded(UUID)
  /// Lanes were released, or a pause began or ended.
  case released
  /// Everything was erased.
  case erased
}
