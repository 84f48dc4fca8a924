import Foundation
import Query
import Testing

// MARK: - Aliases

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func anAliasIsPublishedWithTheSuccess(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let lease = try await trial.lease(id)
    #expect(try trial.outbox.value(ofAlias: "9F2C") == nil)
    #expect(try await trial.outbox.settle(lease, .success(publishing: "9F2C", "1337")))
    #expect(try trial.outbox.value(ofAlias: "9F2C") == "1337")
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theFirstValueOfAnAliasStays(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let second = try await trial.add()
    try await trial.run(first, .success(publishing: "9F2C", "1337"))
    try await trial.run(second, .success(publishing: "9F2C", "1338"))
    #expect(try trial.outbox.value(ofAlias: "9F2C") == "1337")
    #expect(try trial.ending(second)?.outcome == .succeeded)
  }

  @Test(
    arguments: StorageUnderTest.withOutbox, [("9F2C", "9F2C"), (Self.decomposed, Self.composed)])
  func whoeverWaitsForAnAliasGoesOnWhenItIsPublished(
    _ kind: StorageUnderTest, _ names: (awaited: String, published: String)
  ) async throws {
    let trial = try OutboxTrial(kind)
    let publisher = try await trial.add()
    let waiter = try await trial.add()
    try await trial.run(waiter, .failure(.waitForAlias(names.awaited), isCharged: false))
    let entry = try trial.entry(waiter)
    #expect(entry.state == .pending)
    #expect(entry.waitReason == .dependency)
    #expect(entry.nextAttemptAt == nil)
    #expect(try trial.isNext(waiter) == false)
    #expect(try await trial.outbox.claim(ClaimRequest(.mutation(waiter))).leases.isEmpty)
    try await trial.run(publisher, .success(publishing: names.published, "1337"))
    #expect(try trial.outbox.value(ofAlias: names.awaited) == "1337")
    #expect(try trial.outbox.value(ofAlias: names.published) == "1337")
    #expect(try trial.entry(waiter).waitReason == nil)
    #expect(try await trial.claimed() == [waiter])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anAliasThatIsThereIsNotWaitedFor(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let publisher = try await trial.add()
    let waiter = try await trial.add()
    let lease = try await trial.lease(waiter)
    try await trial.run(publisher, .success(publishing: "9F2C", "1337"))
    #expect(
      try await trial.outbox.settle(lease, .failure(.waitForAlias("9F2C"), isCharged: false)))
    #expect(try trial.entry(waiter).waitReason == nil)
    #expect(try await trial.claimed() == [waiter])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func nobodyWaitsForAnAliasThatNoEarlierOneCanPublish(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let waiter = try await trial.add()
    try await trial.add()
    try await trial.run(waiter, .failure(.waitForAlias("9F2C"), isCharged: false))
    #expect(try trial.entry(waiter).deadReason == .dependency)
  }

  @Test(
    arguments: StorageUnderTest.withOutbox, ["success", "dead", "cancelled", "dropped", "expired"])
  func whoeverWaitsForAnAliasIsDeadOnceNoEarlierOneIsLive(
    _ kind: StorageUnderTest, _ end: String
  ) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add { $0.maxAge = .seconds(60) }
    let waiters = [try await trial.add(), try await trial.add()]
    for waiter in waiters {
      try await trial.run(waiter, .failure(.waitForAlias("9F2C"), isCharged: false))
    }
    switch end {
    case "success": try await trial.run(first, .success(publishing: "other", "1"))
    case "dead": try await trial.run(first, .rejection)
    case "cancelled": #expect(try await trial.outbox.cancel(first))
    case "dropped": try await trial.run(first, .failure(.drop))
    default:
      trial.clock.advance(by: .seconds(61))
      #expect(try await trial.claim().expired == 1)
    }
    for waiter in waiters {
      #expect(try trial.entry(waiter).state == .dead)
      #expect(try trial.entry(waiter).deadReason == .dependency)
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRetryTriesAgainWithoutTheAlias(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let waiter = try await trial.add()
    _ = try await trial.lease(first)
    try await trial.run(waiter, .failure(.waitForAlias("9F2C"), isCharged: false))
    try await trial.outbox.retry(waiter)
    #expect(try await trial.claimed() == [waiter])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anAliasIsKeptForTheDaysOfTheHistory(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(days: 2))
    let publisher = try await trial.add()
    try await trial.run(publisher, .success(publishing: "9F2C", "1337"))
    trial.clock.advance(by: .seconds(47 * 3_600))
    try await trial.run(try await trial.add(), .success)
    #expect(try trial.outbox.value(ofAlias: "9F2C") == "1337")
    trial.clock.advance(by: .seconds(2 * 3_600))
    try await trial.run(try await trial.add(), .success)
    #expect(try trial.outbox.value(ofAlias: "9F2C") == nil)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anAliasIsKeptAsLongAsOneThatMayAskForItIsLive(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind, limits: MutationHistoryLimits(days: 2))
    let publisher = try await trial.add()
    let reader = try await trial.add()
    try await trial.run(publisher, .success(publishing: "9F2C", "1337"))
    trial.clock.advance(by: .seconds(72 * 3_600))
    try await trial.run(try await trial.add(), .success)
    #expect(try trial.outbox.value(ofAlias: "9F2C") == "1337")
    try await trial.run(reader, .success)
    // Ages are looked at once a minute.
    trial.clock.advance(by: .seconds(60))
    try await trial.run(try await trial.add(), .success)
    #expect(try trial.outbox.value(ofAlias: "9F2C") == nil)
  }
}
