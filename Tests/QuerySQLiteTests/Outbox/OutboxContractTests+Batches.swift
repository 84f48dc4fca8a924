import Foundation
import Query
import TestSupport
import Testing

// MARK: - Batches of a lane

extension OutboxTrial {
  /// Leases up to so many rows of each lane together.
  fileprivate func batch(
    _ size: Int, limit: Int = 10, lane: String? = nil,
    slots: HostSlots = HostSlots(others: .max), _ names: [String] = ["note"]
  ) async throws -> [MutationLease] {
    let handlers = names.map { MutationHandler.handler($0) }
    return try await self.outbox.claim(
      ClaimRequest(
        .lowest(handledBy: Set(handlers)), limit: limit, hostSlots: slots, lane: lane,
        batchLimits: [handlers[0]: size])
    ).leases
  }
}

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func aBatchIsTheHeadOfALaneAndThoseRightBehindIt(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<5 { ids.append(try await trial.add(lane: "lane")) }
    let single = try await trial.add()
    let leases = try await trial.batch(3)
    #expect(leases.map(\.entry.id) == ids.prefix(3) + [single])
    #expect(leases.allSatisfy { $0.isReplay && $0.entry.attempts == 1 })
    #expect(try await trial.batch(3).isEmpty)
    #expect(try trial.isNext(ids[3]) == true, "a caller may wait for its turn")
    for lease in leases { #expect(try await trial.outbox.settle(lease, .success)) }
    #expect(try await trial.batch(3).map(\.entry.id) == Array(ids.suffix(2)))
    #expect(try trial.outbox.counts.rows == OutboxCounts(leased: 2))
  }

  /// There is room for another one, which has to be known when its time comes.
  @Test(arguments: StorageUnderTest.withOutbox)
  func aBatchAsLongAsTheLimitLeavesRoomForWhatBecomesDue(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    try await trial.run(try await trial.add(), .failure(.wait(.backoff, .seconds(30))))
    for _ in 0..<2 { try await trial.add(lane: "lane") }
    let handler = MutationHandler.handler("note")
    let answer = try await trial.outbox.claim(
      ClaimRequest(.lowest(handledBy: [handler]), limit: 2, batchLimits: [handler: 2]))
    #expect(answer.leases.count == 2)
    #expect(answer.nextDue == .seconds(30))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aBatchCountsAsOneForLimitAndHost(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for lane in ["a", "b", "c"] {
      for _ in 0..<2 { try await trial.add(lane: lane) { $0.host = "host" } }
    }
    let slots = HostSlots(["host": 2], others: 0)
    let leases = try await trial.batch(9, limit: 9, slots: slots)
    #expect(leases.map(\.entry.lane) == ["a", "a", "b", "b"])
    #expect(try await trial.batch(9, limit: 1).map(\.entry.lane) == ["c", "c"])
  }

  /// As long as one of a batch runs, the lane is taken.
  @Test(
    arguments: StorageUnderTest.withOutbox,
    [AttemptOutcome.success, .rejection, .failure(.now)])
  func whoeverIsRetriedWaitsForAllOfTheBatchThatRuns(
    _ kind: StorageUnderTest, _ outcome: AttemptOutcome
  ) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    for _ in 0..<3 { try await trial.add(lane: "lane") }
    try await trial.run(first, .rejection)
    let leases = try await trial.batch(3, limit: 1)
    #expect(leases.count == 3)
    #expect(try await trial.outbox.retry(first))
    for lease in leases {
      #expect(try await trial.claimed() == [])
      #expect(try trial.entry(first).waitReason == .predecessor)
      #expect(try await trial.outbox.settle(lease, outcome))
    }
    #expect(try await trial.claimed() == [first])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aBatchOfOneLaneIsClaimedLikewise(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    try await trial.add(lane: "other")
    for _ in 0..<3 { ids.append(try await trial.add(lane: "lane")) }
    #expect(
      try await trial.batch(2, limit: 1, lane: "lane").map(\.entry.id) == Array(ids.prefix(2)))
    #expect(try await trial.batch(2, limit: 1, lane: "lane").isEmpty)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aBatchEndsAtTheFirstThatCannotGoWithIt(_ kind: StorageUnderTest) async throws {
    func expectTwo(
      _ obstacle: (OutboxTrial) async throws -> Void,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      let trial = try OutboxTrial(kind)
      var ids = [UUID]()
      for _ in 0..<2 { ids.append(try await trial.add(lane: "lane")) }
      try await obstacle(trial)
      try await trial.add(lane: "lane")
      let leases = try await trial.batch(9, ["note", "other"])
      #expect(leases.map(\.entry.id) == ids, sourceLocation: sourceLocation)
    }
    try await expectTwo { try await $0.add("other", lane: "lane") }
    try await expectTwo { try await $0.add("nobody's", lane: "lane") }
    try await expectTwo { try await $0.add(lane: "lane") { $0.instance = "another" } }
    try await expectTwo { try await $0.add(lane: "lane") { $0.version = 9 } }
    try await expectTwo { try await $0.add(lane: "lane") { $0.host = "host" } }
    try await expectTwo { try await $0.add(lane: "lane") { $0.delay = .seconds(60) } }
    try await expectTwo { trial in
      let first = try #require(try trial.outbox.entries().first)
      try await trial.add(lane: "lane", after: [first.id])
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatHasFailedGoesAlone(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<4 { ids.append(try await trial.add(lane: "lane")) }
    let leases = try await trial.batch(4)
    // The head has failed, the one behind it succeeded, and the others were not looked at.
    #expect(try await trial.outbox.settle(leases[0], .failure(.now)))
    #expect(try await trial.outbox.settle(leases[1], .success))
    for lease in leases[2...] {
      #expect(try await trial.outbox.settle(lease, .failure(.now, isCharged: false)))
    }
    let alone = try await trial.batch(4)
    #expect(alone.map(\.entry.id) == [ids[0]])
    #expect(try await trial.outbox.settle(alone[0], .success))
    #expect(try await trial.batch(4).map(\.entry.id) == Array(ids.suffix(2)))
  }

  /// The row behind the head becomes the head while it is leased.
  @Test(arguments: StorageUnderTest.withOutbox)
  func theLeasesOfABatchEndInAnyOrder(_ kind: StorageUnderTest) async throws {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
      let trial = try OutboxTrial(kind)
      var ids = [UUID]()
      for _ in 0..<4 { ids.append(try await trial.add(lane: "lane")) }
      let leases = try await trial.batch(3)
      for place in order {
        #expect(try await trial.batch(1).isEmpty, "\(order)")
        #expect(try await trial.outbox.settle(leases[place], .success), "\(order)")
      }
      #expect(try await trial.batch(3).map(\.entry.id) == [ids[3]], "\(order)")
      #expect(try trial.outbox.counts.rows == OutboxCounts(leased: 1), "\(order)")
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aDeadOneOfABatchHaltsItsLane(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for _ in 0..<3 { try await trial.add(lane: "lane") { $0.onFailure = .halt } }
    let leases = try await trial.batch(3)
    #expect(try await trial.outbox.settle(leases[0], .success))
    #expect(try await trial.outbox.settle(leases[1], .failure(.dead(.rejected))))
    #expect(try await trial.outbox.settle(leases[2], .failure(.now, isCharged: false)))
    #expect(try await trial.batch(3).isEmpty)
    try await trial.outbox.discard(leases[1].entry.id)
    #expect(try await trial.batch(3).map(\.entry.id) == [leases[2].entry.id])
  }
}
