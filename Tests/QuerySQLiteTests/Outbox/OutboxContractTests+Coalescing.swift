import Foundation
import Query
import TestSupport
import Testing

// MARK: - Coalescing

extension OutboxContractTests {
  /// Adds one that takes the place of the last of its lane.
  @discardableResult
  private func addLatest(_ trial: OutboxTrial, after ids: [UUID] = []) async throws -> UUID {
    try await trial.add(lane: "lane", after: ids) { $0.coalesce = .latest }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theLatestTakesThePlaceOfOneThatWasNeverTried(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let number = try trial.entry(first).number
    let mutation = NewMutation(
      name: "note", instance: "instance", lane: "lane", coalesce: .latest, coder: "json",
      arguments: Data("2".utf8))
    let enqueued = try await trial.outbox.enqueue(mutation, claiming: true)
    #expect(enqueued.superseded == first)
    #expect(enqueued.lease != nil)
    #expect(enqueued.entry.number > number)
    let ending = try #require(try trial.ending(first))
    #expect(ending.outcome == .superseded)
    #expect(ending.successor == mutation.id)
    #expect(ending.updatedAt == trial.clock.wall)
    #expect(try trial.outbox.entries().map(\.id) == [mutation.id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneThatWasTriedIsNotSuperseded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let lease = try await trial.lease(first)
    let second = try await self.addLatest(trial)
    #expect(try await trial.outbox.settle(lease, .failure(.now)))
    try await trial.outbox.cancel(second)
    let third = try await self.addLatest(trial)
    #expect(try trial.outbox.entries().map(\.id) == [first, third])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func onlyTheLastOfTheLaneIsSuperseded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let other = try await trial.add("other", lane: "lane")
    let second = try await self.addLatest(trial)
    #expect(try trial.outbox.entries().map(\.id) == [first, other, second])
    let third = try await self.addLatest(trial)
    #expect(try trial.outbox.entries().map(\.id) == [first, other, third])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aDeadOneIsNeitherSupersededNorInTheWay(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    let dead = try await trial.add(lane: "lane")
    let target = try await trial.add()
    try await trial.outbox.cancel(dead)
    let doomed = try await trial.add(lane: "lane", after: [target])
    try await trial.outbox.cancel(target)
    #expect(try trial.entry(doomed).state == .dead)
    let second = try await self.addLatest(trial)
    #expect(try trial.outbox.entries().map(\.id) == [doomed, second])
    #expect(try trial.ending(first)?.successor == second)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneOfAnotherInstanceOrLaneIsNotSuperseded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    try await trial.add(lane: "lane") { $0.instance = "other" }
    try await self.addLatest(trial)
    try await trial.add(lane: "lane 2") { $0.coalesce = .latest }
    try await trial.add { $0.coalesce = .latest }
    try await trial.add { $0.coalesce = .latest }
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 5))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneThatOthersDependOnIsNotSuperseded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    try await trial.add(after: [first])
    try await self.addLatest(trial)
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 3))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func oneThatTheNewOneDependsOnIsNotSuperseded(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add(lane: "lane")
    try await self.addLatest(trial, after: [first])
    #expect(try trial.outbox.counts.rows == OutboxCounts(pending: 2))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theLatestWaitsForWhatTheOldOneDependedOn(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let target = try await trial.add()
    let own = try await trial.add()
    try await trial.add(lane: "lane", after: [target])
    let latest = try await self.addLatest(trial, after: [own])
    try await trial.run(own, .success)
    #expect(try trial.entry(latest).waitReason == .dependency)
    try await trial.run(target, .success)
    #expect(try await trial.claimed() == [latest])
  }
}
