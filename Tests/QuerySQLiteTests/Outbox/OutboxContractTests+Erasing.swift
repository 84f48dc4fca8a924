import Foundation
import Query
import TestSupport
import Testing

// MARK: - Erasing and closing

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func erasingForgetsEverything(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let publisher = try await trial.add()
    try await trial.run(publisher, .success(publishing: "9F2C", "1337"))
    let dead = try await trial.add()
    try await trial.run(dead, .rejection)
    let pending = try await trial.add(lane: "lane", after: [dead])
    let number = try trial.entry(pending).number
    try await trial.outbox.pause()
    try await trial.storage.erase()
    let outbox = trial.outbox
    #expect(try outbox.entries().isEmpty)
    #expect(try outbox.counts.rows == OutboxCounts())
    #expect(try outbox.history(of: "note", instance: "instance").isEmpty)
    #expect(try outbox.attempts(of: publisher).isEmpty)
    #expect(try outbox.value(ofAlias: "9F2C") == nil)
    await trial.events.wait { $0.contains(.erased) }
    let id = try await trial.add(lane: "lane")
    #expect(try trial.entry(id).number > number, "numbers rise for ever")
    #expect(try await trial.claimed() == [id], "the pause was of what is gone")
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatRunsWhileAllIsErasedIsLost(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let lease = try await trial.lease(id)
    try await trial.storage.erase()
    #expect(lease.revocation == .lost)
    #expect(try await trial.outbox.settle(lease, .success) == false)
    #expect(try trial.outbox.history(of: "note", instance: "instance").isEmpty)
    // The same mutation, enqueued anew, is not that lease's.
    try await trial.add { $0.id = id }
    _ = try await trial.lease(id)
    #expect(try await trial.outbox.settle(lease, .success) == false)
    #expect(try trial.entry(id).state == .leased)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClosedOutboxRefusesEverything(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let other = try await trial.add()
    let lease = try await trial.lease(other)
    try await trial.storage.close()
    let outbox = trial.outbox
    let operations: [@Sendable () async throws -> Void] = [
      { _ = try outbox.entries() }, { _ = try outbox.entry(id) },
      { _ = try outbox.attempts(of: id) }, { _ = try outbox.why(id) },
      { _ = try outbox.counts }, { _ = try outbox.standing(of: id) },
      { _ = try outbox.history(of: "note", instance: "instance") },
      { _ = try outbox.value(ofAlias: "9F2C") }, { try await outbox.retry(id) },
      { try await outbox.retry(id, withArguments: Data()) }, { try await outbox.discard(id) },
      { try await outbox.cancel(id) }, { try await outbox.pause() },
      { try await outbox.resume() }, { try await outbox.release(.offline) },
      { try await outbox.clearHistory(of: "note", instance: "instance") },
      { _ = try await outbox.settle(lease, .success) }, { _ = try await trial.claim() },
      { try await trial.add() },
    ]
    for (index, operation) in operations.enumerated() {
      do {
        try await operation()
        Issue.record("operation \(index) did something")
      } catch StorageError.Code.misuse {
      } catch {
        Issue.record("operation \(index): \(error)")
      }
    }
  }
}
