import Foundation
import Query
import Testing

// MARK: - Pause and release

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func aPauseStopsAllButWhatRuns(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let running = try await trial.add()
    let lease = try await trial.lease(running)
    let waiting = try await trial.add()
    try await trial.outbox.pause()
    #expect(try trial.entry(waiting).waitReason == .paused)
    #expect(try trial.isNext(waiting) == false)
    #expect(try await trial.claim().leases.isEmpty)
    #expect(try await trial.claim().nextDue == nil)
    #expect(try await trial.outbox.claim(ClaimRequest(.mutation(waiting))).leases.isEmpty)
    #expect(try await trial.outbox.settle(lease, .success))
    try await trial.outbox.pause()
    try await trial.outbox.resume()
    #expect(try trial.entry(waiting).waitReason == nil)
    #expect(try await trial.claimed() == [waiting])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func lanesWithoutCredentialsWaitForOthers(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane")
    let backoff = try await trial.add()
    try await trial.run(
      first, .failure(.waitForCredentials, "authentication", code: 401, isCharged: false))
    try await trial.run(backoff, .failure(.wait(.backoff, .seconds(60))))
    trial.clock.advance(by: .seconds(30))
    #expect(try trial.entry(first).waitReason == .authentication)
    #expect(try trial.entry(first).nextAttemptAt == nil)
    #expect(try trial.entry(second).waitReason == .predecessor)
    #expect(try await trial.claimed() == [])
    try await trial.outbox.release(.offline)
    #expect(try await trial.claimed() == [])
    try await trial.outbox.release(.authentication)
    #expect(try trial.entry(first).waitReason == nil)
    #expect(try await trial.claimed() == [first])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func credentialsThatChangedDuringAnAttemptAreTriedAtOnce(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let lease = try await trial.lease(id)
    try await trial.outbox.release(.authentication)
    let refusal = AttemptOutcome.failure(
      .waitForCredentials, "authentication", code: 401, isCharged: false)
    #expect(try await trial.outbox.settle(lease, refusal))
    #expect(try trial.entry(id).waitReason == nil, "those that were refused are old")
    try await trial.run(id, refusal)
    #expect(try trial.entry(id).waitReason == .authentication)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theNetworkReleasesWhatFailedToConnect(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let queued = try await trial.add { $0.waitReason = .offline }
    let offline = try await trial.add()
    let refused = try await trial.add()
    let busy = try await trial.add()
    try await trial.run(offline, .failure(.wait(.offline, .seconds(60)), "connectivity"))
    try await trial.run(refused, .noConnection(.seconds(60)))
    try await trial.run(busy, .failure(.wait(.retryAfter, .seconds(60))))
    #expect(try trial.entry(queued).waitReason == .offline)
    #expect(try trial.entry(offline).waitReason == .offline)
    #expect(try trial.entry(refused).waitReason == .backoff)
    try await trial.outbox.release(.offline)
    for id in [queued, offline, refused] {
      #expect(try trial.entry(id).waitReason == nil)
      #expect(try trial.entry(id).nextAttemptAt == nil)
    }
    #expect(try trial.entry(busy).waitReason == .retryAfter)
    #expect(try await trial.claimed() == [queued, offline, refused])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsOfflineSaysSoUntilItIsTriedOrReleased(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add { $0.waitReason = .offline }
    trial.clock.advance(by: .seconds(3_600))
    #expect(try trial.entry(id).waitReason == .offline)
    #expect(try trial.entry(id).nextAttemptAt == nil)
    try await trial.run(id, .failure(.wait(.offline, .seconds(5)), "connectivity"))
    #expect(try trial.entry(id).nextAttemptAt == trial.clock.wall + 5)
    trial.clock.advance(by: .seconds(5))
    #expect(try trial.entry(id).waitReason == .offline)
    #expect(try trial.entry(id).nextAttemptAt == nil)
    try await trial.run(id, .failure(.now))
    #expect(try trial.entry(id).waitReason == nil)
  }
}

// MARK: - Why it waits

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func aRowThatNobodyHereCanRunSaysSo(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add("rename-note") { $0.version = 7 }
    #expect(try trial.entry(id).waitReason == nil, "who replays is not known yet")
    #expect(try await trial.claim(["other"]).leases.isEmpty)
    #expect(try trial.entry(id).waitReason == .handler)
    let why = try trial.outbox.why(id)
    #expect(why.contains("rename-note"))
    #expect(why.contains("7"))
    _ = try await trial.outbox.claim(
      ClaimRequest(.lowest(handledBy: [.handler("rename-note", version: 7)]), limit: 0))
    #expect(try trial.entry(id).waitReason == nil)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func ofSeveralReasonsTheFirstIsTold(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    _ = try await trial.claim(["none"])
    let other = try await trial.add("other")
    let first = try await trial.add(lane: "lane")
    let id = try await trial.add(lane: "lane", after: [other])
    try await trial.outbox.pause()
    #expect(try trial.entry(id).waitReason == .paused)
    try await trial.outbox.resume()
    #expect(try trial.entry(id).waitReason == .predecessor)
    try await trial.run(first, .success)
    #expect(try trial.entry(id).waitReason == .dependency)
    try await trial.run(other, .success)
    #expect(try trial.entry(id).waitReason == .handler)
    try await trial.run(id, .failure(.wait(.backoff, .seconds(60))))
    #expect(try trial.entry(id).waitReason == .backoff)
    trial.clock.advance(by: .seconds(60))
    #expect(try trial.entry(id).waitReason == .handler)
    try await trial.run(id, .failure(.waitForCredentials, "authentication"))
    #expect(try trial.entry(id).waitReason == .authentication)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRowIsNextBehindLeasedOnes(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane")
    let third = try await trial.add(lane: "lane")
    #expect(try trial.isNext(first) == true)
    #expect(try trial.isNext(second) == false, "the first one waits")
    let lease = try await trial.lease(first)
    #expect(try trial.isNext(second) == true)
    #expect(try trial.isNext(third) == false)
    guard case .leased = try trial.outbox.standing(of: first) else {
      Issue.record("it runs")
      return
    }
    #expect(try await trial.outbox.settle(lease, .failure(.wait(.backoff, .seconds(9)))))
    #expect(try trial.isNext(first) == false, "it waits for a time")
    #expect(try trial.isNext(second) == false)
    trial.clock.advance(by: .seconds(9))
    #expect(try trial.isNext(first) == true)
    let dependant = try await trial.add(after: [first])
    #expect(try trial.isNext(dependant) == false)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whyNamesTheClause(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add("first", lane: "lane")
    let id = try await trial.add(lane: "lane")
    let outbox = trial.outbox
    #expect(
      try outbox.why(first)
        == "It is due, and waits for a replayer that sends “first” in version 1.")
    #expect(try outbox.why(id).contains(first.uuidString))
    #expect(try outbox.why(id).contains("first"))
    let lease = try await trial.lease(first)
    #expect(try outbox.why(first).contains("runs"))
    #expect(try await outbox.settle(lease, .failure(.wait(.retryAfter, .seconds(90)))))
    #expect(try outbox.why(first).contains("90 s"))
    #expect(try outbox.why(id).contains("retryAfter"))
    try await outbox.retry(first)
    try await trial.run(first, .failure(.waitForCredentials, "authentication"))
    #expect(try outbox.why(first).contains("credentials"))
    try await outbox.retry(first)
    try await trial.run(first, .rejection)
    #expect(try outbox.why(first).contains("rejected"))
    #expect(try outbox.why(first).contains("it failed"))
    let dependant = try await trial.add(after: [first])
    #expect(try outbox.why(dependant).contains(first.uuidString))
    let offline = try await trial.add { $0.waitReason = .offline }
    #expect(try outbox.why(offline).contains("network"))
    let waiter = try await trial.add()
    try await trial.run(waiter, .failure(.waitForAlias("9F2C"), isCharged: false))
    #expect(try outbox.why(waiter).contains("9F2C"))
    try await outbox.pause()
    #expect(try outbox.why(id).contains("paused"))
    #expect(try outbox.why(id).contains("2023-11-14T22:13:20Z"))
    try await outbox.cancel(id)
    #expect(try outbox.why(id).contains("cancelled"))
  }
}
