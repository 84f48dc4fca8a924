import Foundation
import Query
import TestSupport
import Testing

// MARK: - Settling

extension OutboxContractTests {
  private var failure: RestoredError { RestoredError(typeName: "Test.Failure", text: "it failed") }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aSuccessGoesFromTheOutboxToTheHistory(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let createdAt = trial.clock.wall
    let id = try await trial.add { $0.arguments = Data("{1}".utf8) }
    let row = try trial.entry(id)
    trial.clock.advance(by: .seconds(5))
    let lease = try await trial.lease(id)
    trial.clock.advance(by: .seconds(2))
    let success = SuccessfulAttempt(result: Data("result".utf8))
    #expect(try await trial.outbox.settle(lease, .succeeded(success)))
    #expect(try trial.outbox.entry(id) == nil)
    #expect(try trial.outbox.counts.rows == OutboxCounts())
    var entry = row
    entry.attempts = 1
    #expect(entry.createdAt == createdAt)
    let record = RecordedMutation(
      entry, .succeeded, result: Data("result".utf8), endedAt: trial.clock.wall, sequence: 1)
    #expect(record.state == .ended(.succeeded))
    #expect(record.arguments == Data("{1}".utf8))
    #expect(try trial.ending(id) == record)
    #expect(try trial.outbox.history(of: "note", instance: "instance") == [record])
    let attempt = OutboxAttempt(
      number: 1, startedAt: createdAt + 5, endedAt: createdAt + 7, outcome: "succeeded")
    #expect(try trial.outbox.attempts(of: id) == [attempt])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aWarningIsKeptWithTheSuccess(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let success = SuccessfulAttempt(result: nil, warning: self.failure)
    try await trial.run(id, .succeeded(success))
    #expect(try trial.ending(id)?.outcome == .succeeded)
    #expect(try trial.outbox.attempts(of: id).map(\.error) == [self.failure])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aSuccessHasNoErrorOfAnEarlierAttempt(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .failure(.now))
    try await trial.run(id, .success)
    let record = try #require(try trial.ending(id))
    #expect(record.error == nil)
    #expect(record.attempts == 2)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aFailureThatIsTriedAgainAtOnceIsDue(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .failure(.now, maybeApplied: true))
    let entry = try trial.entry(id)
    #expect(entry.state == .pending)
    #expect(entry.waitReason == nil)
    #expect(entry.nextAttemptAt == nil)
    #expect(entry.failures == 1)
    #expect(entry.attempts == 1)
    #expect(entry.maybeApplied)
    #expect(entry.lastError == self.failure)
    let attempt = OutboxAttempt(
      number: 1, startedAt: trial.clock.wall, endedAt: trial.clock.wall, outcome: "transient",
      code: 503, error: self.failure)
    #expect(try trial.outbox.attempts(of: id) == [attempt])
    #expect(try await trial.claimed() == [id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func onlyWhatIsChargedCounts(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .failure(.now, isCharged: false))
    try await trial.run(id, .failure(.now, isCharged: true))
    try await trial.run(id, .failure(.now, isCharged: false))
    #expect(try trial.entry(id).failures == 1)
    #expect(try trial.entry(id).attempts == 3)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatMayHaveBeenAppliedStaysSo(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .failure(.now, maybeApplied: true))
    try await trial.run(id, .failure(.now, maybeApplied: false))
    #expect(try trial.entry(id).maybeApplied)
    #expect(try await trial.lease(id).entry.maybeApplied)
  }

  @Test(arguments: StorageUnderTest.withOutbox, [MutationWaitReason.backoff, .retryAfter])
  func aFailureThatWaitsIsDueAfterItsTime(
    _ kind: StorageUnderTest, _ reason: MutationWaitReason
  ) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .failure(.wait(reason, .seconds(10))))
    var entry = try trial.entry(id)
    #expect(entry.waitReason == reason)
    #expect(entry.nextAttemptAt == trial.clock.wall + 10)
    trial.clock.advance(by: .milliseconds(9_999))
    #expect(try await trial.claimed() == [])
    trial.clock.advance(by: .milliseconds(1))
    entry = try trial.entry(id)
    #expect(entry.waitReason == nil)
    #expect(entry.nextAttemptAt == nil)
    #expect(try await trial.claimed() == [id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aFailureForGoodIsKeptDead(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .rejection)
    trial.clock.advance(by: .seconds(1_000_000))
    let entry = try trial.entry(id)
    #expect(entry.state == .dead)
    #expect(entry.deadReason == .rejected)
    #expect(entry.lastError == self.failure)
    #expect(try await trial.claimed() == [])
    guard case .dead(entry) = try trial.outbox.standing(of: id) else {
      Issue.record("it is dead")
      return
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aConflictIsRetriedWithOtherArgumentsUnderAnotherKey(
    _ kind: StorageUnderTest
  ) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add(lane: "lane")
    try await trial.add(lane: "lane")
    let old = try trial.entry(id)
    let merged = Data("merged".utf8)
    try await trial.run(
      id, .failure(.retry(arguments: merged, key: "new", after: .seconds(2)), "conflict", code: 409)
    )
    let entry = try trial.entry(id)
    #expect(entry.arguments == merged)
    #expect(entry.idempotencyKey == "new")
    #expect(entry.number == old.number)
    let attempt = try #require(try trial.outbox.attempts(of: id).first)
    #expect(attempt.replacedKey == old.idempotencyKey)
    #expect(attempt.replacedArguments == old.arguments)
    #expect(entry.waitReason == .backoff)
    trial.clock.advance(by: .seconds(2))
    let lease = try await trial.lease(id)
    #expect(lease.entry.arguments == merged)
    #expect(lease.entry.idempotencyKey == "new")
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatTheServerHasSupersedesAConflict(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .failure(.drop, "conflict", code: 409))
    let record = try #require(try trial.ending(id))
    #expect(record.outcome == .superseded)
    #expect(record.successor == nil)
    #expect(record.error == self.failure)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aCancelledAttemptEndsItsMutation(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .cancelled(maybeApplied: true))
    #expect(try trial.ending(id)?.outcome == .cancelled)
    #expect(try trial.outbox.attempts(of: id).map(\.outcome) == ["cancelled"])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anOldLeaseSettlesNothing(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let old = try await trial.lease(id)
    #expect(try await trial.outbox.settle(old, .failure(.now)))
    for outcome in [AttemptOutcome.success, .rejection, .cancelled(maybeApplied: true)] {
      let before = try trial.entry(id)
      #expect(try await trial.outbox.settle(old, outcome) == false, "it is settled already")
      #expect(try trial.entry(id) == before)
    }
    let new = try await trial.lease(id)
    #expect(try await trial.outbox.settle(old, .rejection) == false, "another one runs")
    #expect(try trial.entry(id) == new.entry)
    #expect(try trial.outbox.attempts(of: id).last?.endedAt == nil)
    #expect(try await trial.outbox.settle(new, .success))
    #expect(try await trial.outbox.settle(new, .success) == false, "it has ended")
    #expect(try trial.outbox.history(of: "note", instance: "instance").count == 1)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theLastTwentyAttemptsAreKept(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    for _ in 1...23 { try await trial.run(id, .failure(.now)) }
    #expect(try trial.outbox.attempts(of: id).map(\.number) == Array(4...23))
    try await trial.run(id, .success)
    #expect(try trial.outbox.attempts(of: id).map(\.number) == Array(5...24))
    #expect(try trial.outbox.attempts(of: id).last?.outcome == "succeeded")
  }
}
