import Foundation
import Query
import TestSupport
import Testing

// MARK: - How many there are, and how old

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func theOldestIsTheFirstThatWaitsOrRuns(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    #expect(try trial.outbox.counts.oldestAt == nil)
    var (ids, dates) = ([UUID](), [Date]())
    for lane in ["a", "a", nil, nil] {
      dates.append(trial.clock.wall)
      ids.append(try await trial.add(lane: lane) { $0.onFailure = .halt })
      trial.clock.advance(by: .seconds(10))
    }
    #expect(try trial.outbox.counts.oldestAt == dates[0])
    let first = try await trial.lease(ids[0])
    #expect(try trial.outbox.counts.oldestAt == dates[0], "it runs")
    _ = try await trial.outbox.settle(first, .rejection)
    #expect(try trial.outbox.counts.oldestAt == dates[1], "it waits behind one that halts")
    try await trial.outbox.cancel(ids[1])
    let third = try await trial.lease(ids[2])
    #expect(try trial.outbox.counts.oldestAt == dates[2], "it runs without a lane")
    _ = try await trial.outbox.settle(third, .success)
    #expect(try trial.outbox.counts.oldestAt == dates[3])
    try await trial.run(ids[3], .success)
    #expect(try trial.outbox.counts == OutboxCounts(dead: 1))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func eachHostIsCounted(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let start = trial.clock.wall
    let dead = try await trial.add { $0.host = "example.org" }
    try await trial.run(dead, .rejection)
    trial.clock.advance(by: .seconds(10))
    for _ in 0..<2 { try await trial.add { $0.host = "example.org" } }
    let named = try await trial.add()
    _ = try await trial.lease(named)
    let date = start + 10
    #expect(
      try trial.outbox.countsByHost() == [
        "example.org": OutboxCounts(pending: 2, dead: 1, oldestAt: date),
        "name:note": OutboxCounts(leased: 1, oldestAt: date),
      ])
  }
}

// MARK: - Kinds

extension OutboxContractTests {
  @Test(arguments: StorageUnderTest.withOutbox)
  func pendingOnesAreCountedByKind(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    // What an outbox does that has no way of its own.
    let other = PlainOutbox(trial.outbox)
    #expect(try trial.outbox.pendingKinds() == [:])
    #expect(try other.pendingKinds() == [:])
    for _ in 0..<3 { try await trial.add() }
    try await trial.add { $0.version = 2 }
    try await trial.add("other") { $0.instance = "another" }
    let leased = try await trial.add()
    _ = try await trial.lease(leased)
    #expect(
      try trial.outbox.pendingKinds() == [
        OutboxKind(name: "note", instance: "instance", version: 1): 3,
        OutboxKind(name: "note", instance: "instance", version: 2): 1,
        OutboxKind(name: "other", instance: "another", version: 1): 1,
      ])
    #expect(try other.pendingKinds() == trial.outbox.pendingKinds())
  }
}
