public import Foundation
public import Query

/// An outbox that passes everything on to another one, but for what it does itself. It counts the pending
/// ones by kind as one does that has no way of its own.
public protocol PassingOutbox: MutationOutbox {
  var base: any MutationOutbox { get }
}

/// One that does nothing itself.
public struct PlainOutbox: PassingOutbox {
  public let base: any MutationOutbox

  public init(_ base: any MutationOutbox) { self.base = base }
}

/// An outbox that passes everything on to another one, counts what is read, and does what a test
/// says: its claims fail, or wait at a gate after they are committed; something happens while the log is read,
/// or before an enqueueing that was committed returns.
public struct ScriptedOutbox: PassingOutbox {
  /// The number of mutations that each read returned.
  public let reads = Recorder<Int>()

  /// What the next readings of the log call, one each: before the log is read, and after.
  package let beforeLog = Locked<(@Sendable () -> Void)?>(nil)
  package let afterLog = Locked<(@Sendable () -> Void)?>(nil)
  /// What the next enqueueing calls once it is committed.
  package let afterEnqueueing = Locked<(@Sendable (UUID) async throws -> Void)?>(nil)

  public let base: any MutationOutbox
  private let fault: Locked<StorageError?>
  private let gate: Gate?
  private let handlers = Recorder<@Sendable (OutboxEvent) -> Void>()

  /// - Parameters:
  ///   - base: The outbox that does the work.
  ///   - fault: What claims throw.
  ///   - gate: Where claims wait.
  package init(
    _ base: any MutationOutbox,
    fault: Locked<StorageError?> = Locked(nil),
    gate: Gate? = nil
  ) {
    self.base = base
    self.fault = fault
    self.gate = gate
  }

  /// Tells the subscribers that another process has changed something.
  public func tellOfAnotherProcess() {
    for handler in self.handlers.elements { handler(.changedByAnotherProcess) }
  }

  public func claim(_ request: ClaimRequest) async throws -> ClaimAnswer {
    if let error = self.fault.withLock({ $0 }) { throw error }
    let answer = try await self.base.claim(request)
    await self.gate?.passIgnoringCancellation()
    return answer
  }

  public func enqueue(
    _ mutation: NewMutation, claiming: Bool
  ) async throws -> EnqueuedMutation {
    let enqueued = try await self.base.enqueue(mutation, claiming: claiming)
    try await self.afterEnqueueing.taken()?(enqueued.entry.id)
    return enqueued
  }

  public func subscribe(
    _ handler: @escaping @Sendable (OutboxEvent) -> Void
  ) -> QuerySubscription {
    self.handlers.append(handler)
    return self.base.subscribe(handler)
  }
}

// MARK: - Counted

extension ScriptedOutbox {
  private func counted<Element>(_ elements: [Element]) -> [Element] {
    self.reads.append(elements.count)
    return elements
  }

  public func entries(in state: OutboxEntry.State?) throws -> [OutboxEntry] {
    self.counted(try self.base.entries(in: state))
  }

  public func entry(_ id: UUID) throws -> OutboxEntry? {
    self.reads.append(1)
    return try self.base.entry(id)
  }

  public func standing(of id: UUID) throws -> MutationStanding {
    self.reads.append(1)
    return try self.base.standing(of: id)
  }

  public var endedSequence: Int64 { self.base.endedSequence }

  public func log(
    of handlers: Set<MutationHandler>, endedAfter sequence: Int64
  ) throws -> MutationLog {
    self.beforeLog.taken()?()
    let log = try self.base.log(of: handlers, endedAfter: sequence)
    self.afterLog.taken()?()
    _ = self.counted(log.records)
    return log
  }

  public func standings(of ids: [UUID]) throws -> [MutationStanding] {
    self.counted(try self.base.standings(of: ids))
  }

  public func history(of name: String, instance: String) throws -> [RecordedMutation] {
    self.counted(try self.base.history(of: name, instance: instance))
  }

  public func history(
    of name: String, instance: String, newest limit: Int
  ) throws -> [RecordedMutation] {
    self.counted(try self.base.history(of: name, instance: instance, newest: limit))
  }

  public func pendingKinds() throws -> [OutboxKind: Int] { try self.base.pendingKinds() }
}

// MARK: - Passed on

extension PassingOutbox {
  public func claim(_ request: ClaimRequest) async throws -> ClaimAnswer {
    try await self.base.claim(request)
  }

  public func subscribe(
    _ handler: @escaping @Sendable (OutboxEvent) -> Void
  ) -> QuerySubscription {
    self.base.subscribe(handler)
  }

  public func entries(in state: OutboxEntry.State?) throws -> [OutboxEntry] {
    try self.base.entries(in: state)
  }

  public func entry(_ id: UUID) throws -> OutboxEntry? { try self.base.entry(id) }

  public func standing(of id: UUID) throws -> MutationStanding { try self.base.standing(of: id) }

  public var endedSequence: Int64 { self.base.endedSequence }

  public func log(
    of handlers: Set<MutationHandler>, endedAfter sequence: Int64
  ) throws -> MutationLog {
    try self.base.log(of: handlers, endedAfter: sequence)
  }

  public func standings(of ids: [UUID]) throws -> [MutationStanding] {
    try self.base.standings(of: ids)
  }

  public func history(of name: String, instance: String) throws -> [RecordedMutation] {
    try self.base.history(of: name, instance: instance)
  }

  public func history(
    of name: String, instance: String, newest limit: Int
  ) throws -> [RecordedMutation] {
    try self.base.history(of: name, instance: instance, newest: limit)
  }

  public func attempts(of id: UUID) throws -> [OutboxAttempt] { try self.base.attempts(of: id) }

  public func why(_ id: UUID) throws -> String { try self.base.why(id) }

  public func retry(_ id: UUID, newKey: Bool) async throws -> Bool {
    try await self.base.retry(id, newKey: newKey)
  }

  public func retry(
    _ id: UUID, withArguments arguments: Data, version: Int?, editedPaths: EditedPaths?
  ) async throws -> Bool {
    try await self.base.retry(
      id, withArguments: arguments, version: version, editedPaths: editedPaths)
  }

  public func discard(_ id: UUID) async throws { try await self.base.discard(id) }

  public func cancel(_ id: UUID) async throws -> Bool { try await self.base.cancel(id) }

  public func pause(_ pause: OutboxPause) async throws { try await self.base.pause(pause) }

  public func resume(_ pause: OutboxPause) async throws { try await self.base.resume(pause) }

  public func forgottenEnd(
    of id: UUID
  ) throws -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
    try self.base.forgottenEnd(of: id)
  }

  public func countsByHost() throws -> [String: OutboxCounts] { try self.base.countsByHost() }

  public var pauses: [OutboxPause: Date] { get throws { try self.base.pauses } }

  public var counts: OutboxCounts { get throws { try self.base.counts } }

  public func enqueue(
    _ mutation: NewMutation, claiming: Bool
  ) async throws -> EnqueuedMutation {
    try await self.base.enqueue(mutation, claiming: claiming)
  }

  public func enqueue(_ mutations: [NewMutation]) async throws -> [EnqueuedMutation] {
    try await self.base.enqueue(mutations)
  }

  public func settle(_ lease: MutationLease, _ outcome: AttemptOutcome) async throws -> Bool {
    try await self.base.settle(lease, outcome)
  }

  public func clearHistory(of name: String, instance: String) async throws {
    try await self.base.clearHistory(of: name, instance: instance)
  }

  public func bodies(of id: UUID) async throws -> [URL] { try await self.base.bodies(of: id) }

  public func value(ofAlias alias: String) throws -> String? {
    try self.base.value(ofAlias: alias)
  }

  public func release(_ reason: MutationWaitReason) async throws {
    try await self.base.release(reason)
  }
}

extension Locked {
  /// Takes what is called once.
  fileprivate func taken<Wrapped: Sendable>() -> Value where Value == Wrapped? {
    self.withLock { value in
      defer { value = nil }
      return value
    }
  }
}
