import Foundation
import Query
import Testing

// MARK: - Dependencies

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatDependsOnOthersWaitsUntilAllSucceeded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let second = try await trial.add()
    let dependant = try await trial.add(after: [first, second, first])
    #expect(try trial.entry(dependant).waitReason == .dependency)
    try await trial.run(first, .success)
    #expect(try trial.entry(dependant).waitReason == .dependency)
    #expect(try await trial.outbox.claim(ClaimRequest(.mutation(dependant))).leases.isEmpty)
    try await trial.run(second, .success)
    #expect(try trial.entry(dependant).waitReason == nil)
    #expect(try await trial.claimed() == [dependant])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func unknownDependenciesAreNamedAndNothingIsKept(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let known = try await trial.add(lane: "lane")
    let unknown = [UUID(), UUID()]
    await #expect(throws: OutboxError.unknownDependencies(unknown)) {
      try await trial.add(lane: "lane", after: [unknown[0], known, unknown[1], unknown[0]]) {
        $0.coalesce = .latest
      }
    }
    #expect(try trial.outbox.entries().map(\.id) == [known])
    let own = UUID()
    await #expect(throws: OutboxError.unknownDependencies([own])) {
      try await trial.add(after: [own]) { $0.id = own }
    }
  }

  /// A caller first mends all the identifiers that are unknown.
  @Test(arguments: StorageUnderTest.withOutbox)
  func ofUnknownAndCancelledOnesTheUnknownAreNamed(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let cancelled = try await trial.add()
    try await trial.outbox.cancel(cancelled)
    let unknown = UUID()
    for ids in [[unknown, cancelled], [cancelled, unknown]] {
      await #expect(throws: OutboxError.unknownDependencies([unknown])) {
        try await trial.add(after: ids)
      }
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneThatSucceededIsNotWaitedFor(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    try await trial.run(first, .success)
    let dependant = try await trial.add(after: [first])
    #expect(try trial.entry(dependant).waitReason == nil)
    #expect(try await trial.claimed() == [dependant])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneThatWasCancelledCannotBeDependedOn(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let cancelled = try await trial.add()
    try await trial.outbox.cancel(cancelled)
    await #expect(throws: OutboxError.ended(cancelled)) {
      try await trial.add(after: [cancelled])
    }
    let discarded = try await trial.add()
    try await trial.run(discarded, .rejection)
    try await trial.outbox.discard(discarded)
    await #expect(throws: OutboxError.ended(discarded)) {
      try await trial.add(after: [discarded])
    }
    #expect(try trial.outbox.entries().isEmpty)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatDependsOnADeadOneWaitsForItsRetry(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let earlier = try await trial.add(after: [first])
    try await trial.run(first, .rejection)
    let later = try await trial.add(after: [first])
    #expect(try trial.entry(earlier).waitReason == .dependency)
    #expect(try trial.entry(later).waitReason == .dependency)
    #expect(try await trial.claimed() == [])
    try await trial.outbox.retry(first)
    try await trial.run(first, .success)
    #expect(try await trial.claimed() == [earlier, later])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatDependsOnACancelledOneIsDeadAndThoseBehindWait(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let second = try await trial.add(after: [first])
    let third = try await trial.add(after: [second])
    try await trial.outbox.cancel(first)
    let dead = try trial.entry(second)
    #expect(dead.state == .dead)
    #expect(dead.deadReason == .dependency)
    #expect(dead.waitReason == nil)
    #expect(try trial.entry(third).waitReason == .dependency)
    // A caller that retries it wants it sent without the other one.
    try await trial.outbox.retry(second)
    #expect(try await trial.claimed() == [second])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatDependsOnADiscardedOneIsDead(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let second = try await trial.add(after: [first])
    try await trial.run(first, .rejection)
    try await trial.outbox.discard(first)
    #expect(try trial.entry(second).deadReason == .dependency)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatDependsOnOneWhoseAttemptIsCancelledIsDead(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let second = try await trial.add(after: [first])
    try await trial.run(first, .cancelled(maybeApplied: false))
    #expect(try trial.entry(second).deadReason == .dependency)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatDependsOnOneThatTheServerHasSupersededGoesOn(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let second = try await trial.add(after: [first])
    try await trial.run(first, .failure(.drop, "conflict", code: 409))
    #expect(try trial.ending(first)?.outcome == .superseded)
    #expect(try trial.ending(first)?.successor == nil)
    let third = try await trial.add(after: [first])
    #expect(try await trial.claimed() == [second, third])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aSupersededOneHandsItsDependantsToItsSuccessor(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<3 { ids.append(try await trial.add(lane: "lane") { $0.coalesce = .latest }) }
    let dependant = try await trial.add(after: [ids[0]])
    #expect(try trial.entry(dependant).waitReason == .dependency)
    try await trial.run(ids[2], .success)
    #expect(try await trial.claimed() == [dependant])
    let late = try await trial.add(after: [ids[0], ids[1]])
    #expect(try trial.entry(late).waitReason == nil, "the successor has succeeded")
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneWhoseSuccessorWasCancelledCannotBeDependedOn(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane") { $0.coalesce = .latest }
    try await trial.outbox.cancel(second)
    await #expect(throws: OutboxError.ended(first)) { try await trial.add(after: [first]) }
  }
}
