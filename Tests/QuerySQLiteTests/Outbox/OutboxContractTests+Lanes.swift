import Foundation
import Query
import TestSupport
import Testing

// MARK: - Lanes

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func equalNamesAreOneLane(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: Self.composed)
    let second = try await trial.add(lane: Self.decomposed)
    let lease = try #require(try await trial.claim().leases.first)
    #expect(lease.entry.id == first)
    #expect(try await trial.claimed() == [])
    #expect(try await trial.outbox.settle(lease, .success))
    #expect(try await trial.claimed() == [second])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func equalNamesAreOneMutation(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let ids = [try await trial.add(Self.composed), try await trial.add(Self.decomposed)]
    try await trial.outbox.pause(.name(Self.decomposed))
    #expect(try await trial.claim([Self.composed]).leases.isEmpty)
    try await trial.outbox.resume(.name(Self.composed))
    let leases = try await trial.claim([Self.decomposed]).leases
    #expect(leases.map(\.entry.id) == ids)
    for lease in leases { #expect(try await trial.outbox.settle(lease, .success)) }
    func history(_ name: String) throws -> [UUID] {
      try trial.outbox.history(of: name, instance: "instance").map(\.id)
    }
    #expect(try history(Self.composed) == ids)
    #expect(try history(Self.decomposed) == ids)
    try await trial.outbox.clearHistory(of: Self.decomposed, instance: "instance")
    #expect(try history(Self.composed).isEmpty)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aLaneIsSentOneAfterAnother(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<3 { ids.append(try await trial.add(lane: "lane")) }
    for id in ids {
      let answer = try await trial.claim()
      #expect(answer.leases.map(\.entry.id) == [id])
      #expect(try await trial.claimed() == [], "the others wait for it")
      let lease = try #require(answer.leases.first)
      #expect(try await trial.outbox.settle(lease, .success))
    }
    #expect(try trial.outbox.counts.rows == OutboxCounts())
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func lanesAreSentAtTheSameTime(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "a")
    try await trial.add(lane: "a")
    let second = try await trial.add(lane: "b")
    let third = try await trial.add()
    let fourth = try await trial.add()
    #expect(try await trial.claimed() == [first, second, third, fourth])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aWaitingOneHoldsItsLane(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane")
    try await trial.run(first, .failure(.wait(.backoff, .seconds(10))))
    #expect(try await trial.claimed() == [])
    #expect(try trial.entry(second).waitReason == .predecessor)
    trial.clock.advance(by: .seconds(10))
    #expect(try await trial.claimed() == [first])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aLaneGoesOnBehindADeadOne(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane")
    try await trial.run(first, .rejection)
    #expect(try trial.entry(second).waitReason == nil)
    #expect(try await trial.claimed() == [second])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aLaneThatHaltsWaitsBehindADeadOne(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane") { $0.onFailure = .halt }
    let second = try await trial.add(lane: "lane")
    let other = try await trial.add(lane: "other")
    try await trial.run(first, .rejection)
    #expect(try trial.entry(second).waitReason == .predecessor)
    #expect(try trial.isNext(second) == false)
    #expect(try await trial.claimed() == [other])
    try await trial.outbox.discard(first)
    #expect(try await trial.claimed() == [second])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aHaltedLaneGoesOnWithTheDeadOneOnceThatIsRetried(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane") { $0.onFailure = .halt }
    let second = try await trial.add(lane: "lane")
    try await trial.run(first, .rejection)
    #expect(try await trial.outbox.retry(first) == false, "none behind it has run")
    try await trial.run(first, .success)
    #expect(try await trial.claimed() == [second])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aDeadOneThatHaltsStopsOnlyThoseBehindIt(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane") { $0.onFailure = .halt }
    let third = try await trial.add(lane: "lane")
    try await trial.run(first, .rejection)
    try await trial.run(second, .rejection)
    try await trial.outbox.retry(first)
    #expect(try trial.entry(third).waitReason == .predecessor)
    #expect(try await trial.claimed() == [first])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whoeverIsRetriedTakesItsPlaceInTheLaneAgain(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane")
    try await trial.run(first, .rejection)
    try await trial.outbox.retry(first)
    #expect(try trial.entry(second).waitReason == .predecessor)
    #expect(try await trial.claimed() == [first])
  }

  /// A lane is sent one at a time, in whatever order.
  @Test(
    arguments: StorageUnderTest.withOutbox,
    [AttemptOutcome.success, .rejection, .failure(.now)])
  func whoeverIsRetriedWaitsForTheOneThatRuns(
    _ kind: StorageUnderTest, _ outcome: AttemptOutcome
  ) async throws {
    let trial = try OutboxTrial(kind)
    let (first, second) = try await (trial.add(lane: "lane"), trial.add(lane: "lane"))
    let third = try await trial.add(lane: "lane")
    try await trial.run(first, .rejection)
    let lease = try #require(try await trial.claim().leases.first)
    #expect(lease.entry.id == second)
    #expect(try await trial.outbox.retry(first))
    #expect(try await trial.claimed() == [])
    #expect(try await trial.outbox.claim(ClaimRequest(.mutation(first))).leases.isEmpty)
    #expect(try trial.entry(first).waitReason == .predecessor)
    #expect(try trial.outbox.why(first).contains("runs"))
    #expect(
      try trial.outbox.why(third).contains("runs"), "not the one before it, which waits as well")
    #expect(try await trial.outbox.settle(lease, outcome))
    #expect(try await trial.claimed() == [first])
    #expect(try trial.entry(third).waitReason == .predecessor)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func cancellingTheFirstLetsTheNextGo(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let second = try await trial.add(lane: "lane")
    try await trial.outbox.cancel(first)
    #expect(try await trial.claimed() == [second])
  }
}
