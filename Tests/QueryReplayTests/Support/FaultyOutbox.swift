import Foundation
import Query
import TestSupport

/// An outbox whose claims fail, or wait at a gate after they are committed, as the test says, and that
/// may have a folder for files.
struct FaultyOutbox: MutationOutbox {
  private let base: any MutationOutbox
  private let fault: Locked<StorageError?>
  private let gate: Gate?
  let bodiesFolder: URL?

  init(
    _ base: any MutationOutbox,
    fault: Locked<StorageError?> = Locked(nil),
    gate: Gate? = nil,
    bodiesFolder: URL? = nil
  ) {
    self.base = base
    self.fault = fault
    self.gate = gate
    self.bodiesFolder = bodiesFolder
  }

  func claim(_ request: ClaimRequest) async throws -> ClaimAnswer {
    if let error = self.fault.withLock({ $0 }) { throw error }
    let answer = try await self.base.claim(request)
    await self.gate?.passIgnoringCancellation()
    return answer
  }

  func entries(in state: OutboxEntry.State?) throws -> [OutboxEntry] {
    try self.base.entries(in: state)
  }

  func entry(_ id: UUID) throws -> OutboxEntry? { try self.base.entry(id) }

  func attempts(of id: UUID) throws -> [OutboxAttempt] { try self.base.attempts(of: id) }

  func why(_ id: UUID) throws -> String { try self.base.why(id) }

  func retry(_ id: UUID, newKey: Bool) async throws -> Bool {
    try await self.base.retry(id, newKey: newKey)
  }

  func retry(_ id: UUID, withArguments arguments: Data) async throws -> Bool {
    try await self.base.retry(id, withArguments: arguments)
  }

  func discard(_ id: UUID) async throws { try await self.base.discard(id) }

  func cancel(_ id: UUID) async throws -> Bool { try await self.base.cancel(id) }

  func pause() async throws { try await self.base.pause() }

  func resume() async throws { try await self.base.resume() }

  var counts: OutboxCounts { get throws { try self.base.counts } }

  func enqueue(_ mutation: NewMutation, claiming: Bool) async throws -> EnqueuedMutation {
    try await self.base.enqueue(mutation, claiming: claiming)
  }

  func settle(_ lease: MutationLease, _ outcome: AttemptOutcome) async throws -> Bool {
    try await self.base.settle(lease, outcome)
  }

  func standing(of id: UUID) throws -> MutationStanding { try self.base.standing(of: id) }

  func history(of name: String, instance: String) throws -> [RecordedMutation] {
    try self.base.history(of: name, instance: instance)
  }

  func clearHistory(of name: String, instance: String) async throws {
    try await self.base.clearHistory(of: name, instance: instance)
  }

  func value(ofAlias alias: String) throws -> String? { try self.base.value(ofAlias: alias) }

  func release(_ reason: MutationWaitReason) async throws { try await self.base.release(reason) }

  func subscribe(_ handler: @escaping @Sendable (OutboxEvent) -> Void) -> QuerySubscription {
    self.base.subscribe(handler)
  }
}
