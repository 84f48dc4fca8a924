import Foundation
import Query
import Testing

// MARK: - Priority

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsMoreUrgentGoesFirst(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for priority in [MutationPriority.low, .normal, .high, .high] {
      ids.append(try await trial.add { $0.priority = priority })
    }
    #expect(try trial.entry(ids[2]).priority == .high)
    #expect(try await trial.claimed() == [ids[2], ids[3], ids[1], ids[0]])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aLaneKeepsItsOrderWhateverIsUrgent(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane") { $0.priority = .low }
    let urgent = try await trial.add(lane: "lane") { $0.priority = .high }
    let other = try await trial.add()
    #expect(try await trial.claim(limit: 1).leases.map(\.entry.id) == [other])
    #expect(try trial.entry(urgent).waitReason == .predecessor)
    try await trial.run(first, .success)
    let late = try await trial.add()
    #expect(try await trial.claimed() == [urgent, late])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsNotUrgentHasItsTurnAllTheSame(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let low = [try await trial.add { $0.priority = .low }, try await trial.add()]
    for _ in 0..<20 { try await trial.add { $0.priority = .high } }
    var turns = [Int]()
    for turn in 0..<22 {
      // One claim after another, as attempts end, while urgent ones come.
      let lease = try #require(try await trial.claim(limit: 1).leases.first)
      if low.contains(lease.entry.id) { turns.append(turn) }
      _ = try await trial.outbox.settle(lease, .success)
      try await trial.add { $0.priority = .high }
    }
    #expect(turns == [8, 17], "the one that waits longest is one of nine")
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfALaneIsNobodysTurn(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let low = try await trial.add { $0.priority = .low }
    for _ in 0..<9 { try await trial.add { $0.priority = .high } }
    for turn in 0..<8 {
      let lease = try #require(try await trial.claim(limit: 1).leases.first)
      #expect(lease.entry.priority == .high, "turn \(turn)")
      _ = try await trial.outbox.settle(lease, .success)
      let inLane = try await trial.add(lane: "lane") { $0.priority = .high }
      let request = ClaimRequest(.lowest(handledBy: [.handler("note")]), lane: "lane")
      let other = try #require(try await trial.outbox.claim(request).leases.first)
      #expect(other.entry.id == inLane)
      _ = try await trial.outbox.settle(other, .success)
    }
    #expect(try await trial.claim(limit: 1).leases.map(\.entry.id) == [low])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func repeatsGoByPriorityAmongThemselves(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let normal = try await trial.add()
    let urgent = try await trial.add { $0.priority = .high }
    for id in [normal, urgent] { try await trial.run(id, .failure(.wait(.backoff, .seconds(1)))) }
    let new = try await trial.add { $0.priority = .low }
    trial.clock.advance(by: .seconds(60))
    #expect(try await trial.claimed() == [new, urgent, normal])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func urgencyDoesNotFillAHost(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    var ids = [UUID]()
    for _ in 0..<3 {
      ids.append(
        try await trial.add {
          $0.host = "example.org"
          $0.priority = .high
        })
    }
    let other = try await trial.add { $0.host = "example.com" }
    let answer = try await trial.claim(slots: HostSlots(others: 2))
    #expect(answer.leases.map(\.entry.id) == [ids[0], ids[1], other])
  }
}
