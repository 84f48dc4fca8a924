import Foundation
import Testing

@testable import Query

/// What the contract of all outboxes cannot see of this one.
@Suite struct OutboxTableTests {
  private let time = OutboxTime(
    wall: Date(timeIntervalSince1970: 1_700_000_000), boottime: 1_000_000, monotonic: 1_000_000,
    bootID: "boot", isSynchronised: true)

  private func mutation(lane: String? = nil, after ids: [UUID] = []) -> NewMutation {
    NewMutation(
      name: "a", instance: "i", lane: lane, dependencies: ids, coder: "json", arguments: Data())
  }

  @Test func effectsAreHandedOutOnce() throws {
    var table = OutboxTable()
    let id = try table.enqueue(self.mutation(), claiming: true, at: self.time).entry.id
    #expect(table.takeEffects().events == [.enqueued(id), .claimed(id)])
    #expect(table.takeEffects().events.isEmpty)
  }

  @Test func whatThrowsHasNoEffects() throws {
    var table = OutboxTable()
    let id = try table.enqueue(self.mutation(), claiming: false, at: self.time).entry.id
    _ = table.takeEffects()
    let time = self.time
    let dependant = self.mutation(after: [UUID()])
    #expect(throws: OutboxError.self) {
      try table.enqueue(dependant, claiming: true, at: time)
    }
    #expect(throws: OutboxError.notDead(id)) { try table.discard(id, at: time) }
    #expect(throws: OutboxError.self) { try table.cancel(UUID(), at: time) }
    #expect(table.takeEffects().events.isEmpty)
    #expect(table.rows.count == 1)
    #expect(table.lastNumber == 1)
  }

  @Test func revocationsAreEffectsAndCallNobody() throws {
    var table = OutboxTable()
    let enqueued = try table.enqueue(self.mutation(), claiming: true, at: self.time)
    let lease = try #require(enqueued.lease)
    let isCancelled = try table.cancel(lease.entry.id, at: self.time)
    #expect(!isCancelled)
    #expect(lease.revocation == nil)
    let effects = table.takeEffects()
    #expect(effects.revocations.map(\.reason) == [.cancelRequested])
    #expect(effects.revocations.first?.lease === lease)
  }

  @Test func theHeadsAreOneOfEachLaneAndAllWithoutOne() throws {
    var table = OutboxTable()
    for lane in ["a", nil, "a", "b", nil] {
      _ = try table.enqueue(self.mutation(lane: lane), claiming: false, at: self.time)
    }
    #expect(table.heads == [1, 2, 4, 5])
    for row in table.rows {
      #expect(table.isHead(row) == table.heads.contains(row.entry.number))
    }
  }

  @Test func thePruningOfManyKeepsTheirOrder() throws {
    var table = OutboxTable(limits: MutationHistoryLimits(perMutation: 0, total: 3))
    for _ in 0..<10 {
      let id = try table.enqueue(self.mutation(), claiming: false, at: self.time).entry.id
      _ = try table.cancel(id, at: self.time)
    }
    #expect(table.history.map(\.record.number) == [8, 9, 10])
  }

  @Test func ofEachMutationAsManyAreKeptAsTheLimitSaysAndThoseThatEndedToday() throws {
    var table = OutboxTable(limits: MutationHistoryLimits(perMutation: 2))
    var time = self.time
    func end() throws {
      let id = try table.enqueue(self.mutation(), claiming: false, at: time).entry.id
      _ = try table.cancel(id, at: time)
    }
    for _ in 0..<4 { try end() }
    #expect(table.history.map(\.record.number) == [1, 2, 3, 4])
    time.wall += 25 * 3_600
    try end()
    #expect(table.history.map(\.record.number) == [4, 5])
  }
}
