import Foundation
import Query
import TestSupport
import Testing

// MARK: - Claiming of one lane

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfALaneTakesItsHeadAndNothingElse(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    try await trial.add()
    try await trial.add(lane: "other")
    let head = try await trial.add(lane: "lane")
    let next = try await trial.add(lane: "lane")
    #expect(try await trial.claimed(lane: "lane") == [head])
    #expect(try await trial.claimed(lane: "lane") == [], "its head is leased")
    #expect(try trial.entry(next).attempts == 0)
    #expect(try await trial.claimed(lane: "nobody's") == [])
    #expect(try await trial.claimed(lane: "") == [], "a row without a lane is not in an empty one")
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 3, leased: 1))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfALaneIsAReplayAndGoesOnInItsOrder(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<3 { ids.append(try await trial.add(lane: "lane")) }
    for id in ids {
      let lease = try #require(try await trial.claim(lane: "lane").leases.first)
      #expect(lease.entry.id == id)
      #expect(lease.isReplay)
      #expect(try await trial.outbox.settle(lease, .success))
    }
    #expect(try await trial.claimed(lane: "lane") == [])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfALaneKeepsToLimitHandlersSlotsAndPause(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add("note", lane: "lane") { $0.host = "host" }
    #expect(try await trial.claim(lane: "lane", limit: 0).leases.isEmpty)
    #expect(try await trial.claim(["other"], lane: "lane").leases.isEmpty)
    let full = HostSlots(["host": 0], others: 1)
    #expect(try await trial.claim(lane: "lane", slots: full).leases.isEmpty)
    try await trial.outbox.pause()
    #expect(try await trial.claimed(lane: "lane") == [])
    try await trial.outbox.resume()
    #expect(try trial.entry(id).attempts == 0)
    #expect(try await trial.claimed(lane: "lane") == [id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfALaneSaysWhenItsHeadIsDue(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add(lane: "lane")
    let other = try await trial.add(lane: "other")
    try await trial.run(id, .failure(.wait(.backoff, .seconds(30))))
    try await trial.run(other, .failure(.wait(.backoff, .seconds(1))))
    let answer = try await trial.claim(lane: "lane")
    #expect(answer.leases.isEmpty)
    #expect(answer.nextDue == .seconds(30), "the other lane's time is not this one's")
    #expect(try await trial.claim(["other"], lane: "lane").nextDue == nil)
    trial.clock.advance(by: .seconds(30))
    #expect(try await trial.claimed(lane: "lane") == [id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aHeadThatWaitsForSomethingElseHoldsItsLane(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let target = try await trial.add()
    let head = try await trial.add(lane: "lane", after: [target])
    try await trial.add(lane: "lane")
    let answer = try await trial.claim(lane: "lane")
    #expect(answer.leases.isEmpty)
    #expect(answer.nextDue == nil)
    try await trial.run(target, .success)
    #expect(try await trial.claimed(lane: "lane") == [head])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func headsThatGrewTooOldAreDeadAndTheNextOneIsLeased(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for _ in 0..<2 { try await trial.add(lane: "lane") { $0.maxAge = .seconds(1) } }
    let young = try await trial.add(lane: "lane")
    trial.clock.advance(by: .seconds(2))
    let answer = try await trial.claim(lane: "lane")
    #expect(answer.expired == 2)
    #expect(answer.leases.map(\.entry.id) == [young])
    #expect(try trial.outbox.counts.rows == OutboxCounts(leased: 1, dead: 2))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfOneMutationGoesByNoLane(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add(lane: "lane")
    let answer = try await trial.outbox.claim(ClaimRequest(.mutation(id), lane: "other"))
    #expect(answer.leases.map(\.entry.id) == [id])
  }
}

extension OutboxTrial {
  fileprivate func claim(
    _ names: [String] = ["note"],
    lane: String,
    limit: Int = 10,
    slots: HostSlots = HostSlots(others: .max)
  ) async throws -> ClaimAnswer {
    try await self.outbox.claim(
      ClaimRequest(
        .lowest(handledBy: Set(names.map { .handler($0) })), limit: limit, hostSlots: slots,
        lane: lane))
  }

  fileprivate func claimed(lane: String) async throws -> [UUID] {
    try await self.claim(lane: lane).leases.map(\.entry.id)
  }
}
