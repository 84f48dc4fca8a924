import Foundation
import Query
import TestSupport
import Testing

// MARK: - Events

extension OutboxContractTests {
  /// What an outbox tells while a closure runs. The last is the end of a mutation that is added for it,
  /// and is left out with what that leads to.
  private func events(
    of trial: OutboxTrial, _ body: () async throws -> Void
  ) async throws -> [OutboxEvent] {
    // What was changed before is told first.
    let (_, before) = try await self.eventsUntilNow(of: trial)
    try await body()
    let (mark, all) = try await self.eventsUntilNow(of: trial)
    return all.dropFirst(before.count).filter { $0 != .cancelled(mark) && $0 != .enqueued(mark) }
  }

  /// All events that an outbox has told, up to those of a mutation that is added for it.
  private func eventsUntilNow(
    of trial: OutboxTrial
  ) async throws -> (mark: UUID, events: [OutboxEvent]) {
    let mark = try await trial.add("mark")
    try await trial.outbox.cancel(mark)
    return (mark, await trial.events.wait { $0.contains(.cancelled(mark)) })
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func eachTransitionIsToldInOrder(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = UUID()
    let second = UUID()
    let third = UUID()
    let events = try await self.events(of: trial) {
      try await trial.add(lane: "lane") { $0.id = first }
      try await trial.run(first, .failure(.now))
      try await trial.run(first, .rejection)
      try await trial.outbox.retry(first)
      try await trial.run(first, .success)
      try await trial.add(lane: "lane") { $0.id = second }
      try await trial.add(lane: "lane") {
        $0.id = third
        $0.coalesce = .latest
      }
      try await trial.outbox.cancel(third)
    }
    #expect(
      events == [
        .enqueued(first), .claimed(first), .pending(first), .claimed(first),
        .dead(first, .rejected), .pending(first), .claimed(first), .succeeded(first),
        .enqueued(second), .enqueued(third), .superseded(second, by: third), .cancelled(third),
      ])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theEndOfADependantIsTold(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await trial.add()
    let second = try await trial.add(after: [first])
    try await trial.run(first, .rejection)
    let events = try await self.events(of: trial) { try await trial.outbox.discard(first) }
    #expect(events == [.discarded(first), .dead(second, .dependency)])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func expiryAndDroppingAreTold(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let old = try await trial.add { $0.maxAge = .seconds(1) }
    let dropped = try await trial.add()
    let events = try await self.events(of: trial) {
      trial.clock.advance(by: .seconds(2))
      let lease = try #require(try await trial.claim().leases.first)
      let isSettled = try await trial.outbox.settle(lease, .failure(.drop))
      #expect(isSettled)
    }
    #expect(
      events == [.dead(old, .expired), .claimed(dropped), .superseded(dropped, by: nil)])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aPauseAndItsEndAreTold(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    try await trial.run(id, .failure(.waitForCredentials))
    let events = try await self.events(of: trial) {
      try await trial.outbox.pause()
      try await trial.outbox.resume()
      try await trial.outbox.release(.authentication)
    }
    #expect(events == [.released, .released, .released])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whoIsToldFindsTheChange(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let found = Recorder<OutboxCounts?>()
    let outbox = trial.outbox
    let subscription = outbox.subscribe { _ in found.append(try? outbox.counts) }
    let id = try await trial.add()
    await found.wait(forCount: 1)
    #expect(found.elements.map { $0?.rows } == [OutboxCounts(pending: 1)])
    try await outbox.cancel(id)
    await found.wait(forCount: 2)
    #expect(found.elements.last??.rows == OutboxCounts())
    subscription.cancel()
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatIsRefusedIsNotTold(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add()
    let lease = try await trial.lease(id)
    #expect(try await trial.outbox.settle(lease, .failure(.now)))
    let events = try await self.events(of: trial) {
      let isSettled = try await trial.outbox.settle(lease, .success)
      #expect(!isSettled)
      _ = try? await trial.outbox.discard(id)
      _ = try? await trial.add(after: [UUID()])
    }
    #expect(events == [])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func nothingIsToldAfterASubscriptionEnds(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let heard = Recorder<OutboxEvent>()
    let subscription = trial.outbox.subscribe { heard.append($0) }
    subscription.cancel()
    _ = try await self.events(of: trial) { try await trial.add() }
    #expect(heard.elements == [])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func manyAtATimeAreToldOnceEach(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let events = try await self.events(of: trial) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<40 {
          group.addTask {
            let id = try await trial.add(lane: "\(index % 5)")
            try await trial.outbox.cancel(id)
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(events.count == 80)
    #expect(Set(events).count == 80)
    #expect(try trial.outbox.counts.rows == OutboxCounts())
  }
}
