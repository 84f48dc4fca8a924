import Foundation
import Query
import TestSupport
import Testing

// MARK: - Retry

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func aRetryMakesADeadOneLiveAgainWithItsKey(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let key = try trial.entry(id).idempotencyKey
    try await trial.run(id, .failure(.now))
    try await trial.run(id, .rejection)
    #expect(try await trial.outbox.retry(id) == false)
    let entry = try trial.entry(id)
    #expect(entry.state == .pending)
    #expect(entry.deadReason == nil)
    #expect(entry.waitReason == nil)
    #expect(entry.failures == 0)
    #expect(entry.attempts == 2)
    #expect(entry.idempotencyKey == key)
    let lease = try await trial.lease(id)
    #expect(lease.isReplay)
    #expect(lease.entry.attempts == 3)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRetryWithANewKeyKeepsTheOldOneWithTheAttempt(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let old = try trial.entry(id)
    try await trial.run(id, .rejection)
    try await trial.outbox.retry(id, newKey: true)
    try await trial.outbox.retry(id, newKey: true)
    let new = try trial.entry(id)
    #expect(new.idempotencyKey != old.idempotencyKey)
    #expect(UUID(uuidString: new.idempotencyKey) != nil)
    #expect(new.arguments == old.arguments)
    let attempt = try #require(try trial.outbox.attempts(of: id).first)
    #expect(attempt.replacedKey == old.idempotencyKey, "what it was sent with")
    #expect(attempt.replacedArguments == nil)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRetryWithOtherArgumentsHasANewKey(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let old = try trial.entry(id)
    try await trial.run(id, .rejection)
    let arguments = Data("other".utf8)
    try await trial.outbox.retry(id, withArguments: arguments)
    let new = try trial.entry(id)
    #expect(new.state == .pending)
    #expect(new.arguments == arguments)
    #expect(new.idempotencyKey != old.idempotencyKey)
    let attempt = try #require(try trial.outbox.attempts(of: id).first)
    #expect(attempt.replacedKey == old.idempotencyKey)
    #expect(attempt.replacedArguments == old.arguments)
    #expect(try await trial.lease(id).entry.arguments == arguments)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRetryMakesAWaitingOneDue(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let backoff = try await trial.add()
    let credentials = try await trial.add()
    try await trial.run(backoff, .failure(.wait(.backoff, .seconds(60))))
    try await trial.run(credentials, .failure(.waitForCredentials, "authentication"))
    for id in [backoff, credentials] {
      #expect(try await trial.outbox.retry(id) == false)
      #expect(try trial.entry(id).waitReason == nil)
      #expect(try trial.entry(id).nextAttemptAt == nil)
      #expect(try trial.entry(id).failures == 1, "a live one keeps what was charged")
    }
    #expect(try await trial.claimed() == [backoff, credentials])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRetryIsRefusedWhereItRunsOrHasEnded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let lease = try await trial.lease(id)
    await #expect(throws: OutboxError.running(id)) { try await trial.outbox.retry(id) }
    await #expect(throws: OutboxError.running(id)) {
      try await trial.outbox.retry(id, withArguments: Data())
    }
    #expect(try await trial.outbox.settle(lease, .success))
    await #expect(throws: OutboxError.ended(id)) { try await trial.outbox.retry(id) }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRetrySaysThatItIsOutOfOrder(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane")
    try await trial.run(first, .rejection)
    #expect(try await trial.outbox.retry(first) == false, "none behind it has run")
    try await trial.run(first, .rejection)
    try await trial.run(second, .failure(.now))
    #expect(try await trial.outbox.retry(first), "the one behind it was sent")
    try await trial.run(first, .rejection)
    try await trial.run(second, .success)
    #expect(try await trial.outbox.retry(first), "the one behind it has succeeded")
    let alone = try await trial.add()
    try await trial.run(alone, .rejection)
    try await trial.run(try await trial.add(), .success)
    #expect(try await trial.outbox.retry(alone) == false, "it has a lane of its own")
  }
}

// MARK: - Cancel and discard

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsPendingIsCancelledAtOnce(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    #expect(try await trial.outbox.cancel(id))
    #expect(try trial.ending(id)?.outcome == .cancelled)
    #expect(try trial.outbox.counts.rows == OutboxCounts())
    await #expect(throws: OutboxError.ended(id)) { try await trial.outbox.cancel(id) }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsDeadIsCancelledAtOnce(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .rejection)
    #expect(try await trial.outbox.cancel(id))
    #expect(try trial.ending(id)?.outcome == .cancelled)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func cancellingWhatRunsAsksItsAttemptToEnd(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let lease = try await trial.lease(id)
    #expect(try await trial.outbox.cancel(id) == false)
    #expect(lease.revocation == .cancelRequested)
    #expect(try trial.entry(id).state == .leased)
    #expect(try await trial.outbox.settle(lease, .cancelled(maybeApplied: true)))
    #expect(try trial.ending(id)?.outcome == .cancelled)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anAttemptThatFailsAfterItWasCancelledIsNotMadeAgain(
    _ kind: StorageUnderTest
  ) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let dependant = try await trial.add(after: [id])
    let lease = try await trial.lease(id)
    try await trial.outbox.cancel(id)
    #expect(try await trial.outbox.settle(lease, .failure(.now, "cancelled")))
    #expect(try trial.ending(id)?.outcome == .cancelled)
    #expect(try trial.entry(dependant).deadReason == .dependency)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func cancellingMayBeTooLate(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let lease = try await trial.lease(id)
    try await trial.outbox.cancel(id)
    #expect(try await trial.outbox.settle(lease, .success))
    #expect(try trial.ending(id)?.outcome == .succeeded)
    await #expect(throws: OutboxError.ended(id)) { try await trial.outbox.cancel(id) }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func onlyADeadOneIsDiscarded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    await #expect(throws: OutboxError.notDead(id)) { try await trial.outbox.discard(id) }
    let lease = try await trial.lease(id)
    await #expect(throws: OutboxError.running(id)) { try await trial.outbox.discard(id) }
    #expect(try await trial.outbox.settle(lease, .rejection))
    try await trial.outbox.discard(id)
    let record = try #require(try trial.ending(id))
    #expect(record.outcome == .discarded)
    #expect(record.error != nil)
    await #expect(throws: OutboxError.ended(id)) { try await trial.outbox.discard(id) }
  }
}
