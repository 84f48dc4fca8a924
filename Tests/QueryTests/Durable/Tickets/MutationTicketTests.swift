import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct MutationTicketTests {
  private let outbox = MemoryQueryStorage().outbox

  private func add(
    lane: String? = nil, _ coalesce: CoalescePolicy = .none
  ) async throws -> MutationTicket<String> {
    let entry = try await self.outbox.enqueue(
      NewMutation(
        name: "a", instance: "i", lane: lane, coalesce: coalesce, coder: "json",
        arguments: Data()),
      claiming: false
    ).entry
    return MutationTicket(
      id: entry.id, idempotencyKey: entry.idempotencyKey, outbox: self.outbox, showEnd: { _ in },
      decode: { String(decoding: $0.result ?? Data(), as: UTF8.self) })
  }

  private func settle(_ id: UUID, _ outcome: AttemptOutcome) async throws {
    let leases = try await self.outbox.claim(ClaimRequest(.mutation(id))).leases
    #expect(try await self.outbox.settle(#require(leases.first), outcome))
  }

  private func success(_ text: String) -> AttemptOutcome {
    .succeeded(SuccessfulAttempt(result: Data(text.utf8)))
  }

  @Test func theOutcomeIsThereAtOnceWhereItHasEnded() async throws {
    let ticket = try await self.add()
    try await self.settle(ticket.id, self.success("done"))
    #expect(try await ticket.outcome() == "done")
  }

  @Test func aSuccessThatTheHistoryHasForgottenIsNoUnknownOne() async throws {
    let time = Locked(OutboxClock.system.now())
    let storage = MemoryQueryStorage(
      historyLimits: MutationHistoryLimits(perMutation: 1), maximumArgumentBytes: 1_000,
      outboxClock: OutboxClock { time.withLock { $0 } })
    func run() async throws -> UUID {
      let mutation = NewMutation(name: "a", instance: "i", coder: "json", arguments: Data())
      let enqueued = try await storage.outbox.enqueue(mutation, claiming: true)
      _ = try await storage.outbox.settle(try #require(enqueued.lease), self.success("done"))
      return enqueued.entry.id
    }
    let id = try await run()
    time.withLock { $0.wall += 90_000 }
    for _ in 0..<20 { _ = try await run() }
    let ticket = MutationTicket(
      id: id, idempotencyKey: "", outbox: storage.outbox, showEnd: { _ in }, decode: { _ in "" })
    await #expect(throws: MutationEndedError(id: id, reason: .succeeded)) {
      try await ticket.outcome()
    }
  }

  @Test func theOutcomeIsWaitedFor() async throws {
    let ticket = try await self.add()
    async let outcome = ticket.outcome()
    try await self.settle(ticket.id, self.success("done"))
    #expect(try await outcome == "done")
  }

  @Test func aTicketIsWokenByItsOwnMutationAlone() async throws {
    let counted = ScriptedOutbox(self.outbox)
    let id = try await self.add().id
    let ticket = MutationTicket(
      id: id, idempotencyKey: "", outbox: counted, showEnd: { _ in }, decode: { _ in "done" })
    async let outcome = ticket.outcome()
    while counted.reads.count == 0 { await Task.yield() }
    for _ in 1...20 { try await self.settle(self.add().id, self.success("other")) }
    try await self.settle(id, self.success("own"))
    #expect(try await outcome == "done")
    // At the start, as it was claimed, and as it ended; never for one of the others.
    #expect(counted.reads.count <= 4)
  }

  @Test func theOutcomeOfASupersededOneIsThatOfItsSuccessor() async throws {
    let first = try await self.add(lane: "lane")
    async let outcome = first.outcome()
    let second = try await self.add(lane: "lane", .latest)
    let third = try await self.add(lane: "lane", .latest)
    try await self.settle(third.id, self.success("third"))
    #expect(try await outcome == "third")
    #expect(try await second.outcome() == "third")
  }

  @Test func aDeadOneThrowsWhyItIsDead() async throws {
    let ticket = try await self.add()
    let error = RestoredError(typeName: "Test.Failure", text: "no")
    try await self.settle(
      ticket.id,
      .failed(
        FailedAttempt(
          error: error, outcome: "permanent", isCharged: true, maybeApplied: false,
          next: .dead(.rejected))))
    await #expect(
      throws: MutationDeadError(id: ticket.id, reason: .rejected, lastError: error)
    ) { try await ticket.outcome() }
    try await self.outbox.discard(ticket.id)
    await #expect(throws: MutationEndedError(id: ticket.id, reason: .discarded)) {
      try await ticket.outcome()
    }
  }

  @Test func anEndWithoutSuccessIsThrown() async throws {
    let ticket = try await self.add()
    try await self.outbox.cancel(ticket.id)
    await #expect(throws: MutationEndedError(id: ticket.id, reason: .cancelled)) {
      try await ticket.outcome()
    }
    let unknown = MutationTicket<String>(
      id: UUID(), idempotencyKey: "", outbox: self.outbox, showEnd: { _ in }, decode: { _ in "" })
    await #expect(throws: MutationEndedError(id: unknown.id, reason: .unknown)) {
      try await unknown.outcome()
    }
  }

  @Test func cancellingTheWaitDoesNothingToTheMutation() async throws {
    let ticket = try await self.add()
    let task = Task { try await ticket.outcome() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try self.outbox.counts.rows == OutboxCounts(pending: 1))
  }
}

// MARK: - The watch

extension MutationTicketTests {
  @Test func aChangeSinceTheLastCallIsNotMissed() async throws {
    let watch = OutboxWatch(self.outbox)
    _ = try await self.add()
    try await watch.nextChange()
  }

  @Test func aChangeEndsTheWait() async throws {
    let watch = OutboxWatch(self.outbox)
    let task = Task { try await watch.nextChange() }
    _ = try await self.add()
    try await task.value
  }

  @Test func aCancelledTaskDoesNotWait() async throws {
    let watch = OutboxWatch(self.outbox)
    let task = Task { try await watch.nextChange() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
