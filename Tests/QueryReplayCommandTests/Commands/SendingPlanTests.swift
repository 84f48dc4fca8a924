import Foundation
import Query
import Testing

@testable import QueryReplayCommand

struct SendingPlanTests {
  private func entry(
    _ number: Int, lane: String? = nil, _ reason: MutationWaitReason? = nil,
    state: OutboxEntry.State = .pending, name: String = "own",
    isUnreached: Bool = false
  ) -> OutboxEntry {
    var entry = OutboxEntry(
      id: UUID(), number: number, name: name, instance: "", lane: lane, onFailure: .halt,
      state: state, waitReason: reason, idempotencyKey: "", createdAt: Date(), coder: "json",
      arguments: Data())
    entry.isUnreached = isUnreached
    return entry
  }

  private func plan(_ entries: OutboxEntry...) -> SendingPlan {
    SendingPlan(entries) { $0.name == "own" }
  }

  @Test func thoseThatMayRunGoInTheOrderOfTheirNumbersAndTheirLanes() {
    let plan = self.plan(
      self.entry(1, lane: "a"), self.entry(2), self.entry(3, lane: "a", .predecessor),
      self.entry(4, .authentication), self.entry(5, .backoff), self.entry(6, .offline))
    #expect(plan.order.map(\.number) == [1, 2, 3, 4, 6])
    #expect(plan.waiting == ["backoff": 1])
  }

  /// Each new replayer begins with what was not reached: the network may have come back since.
  @Test func whatWasNotReachedIsTriedAgain() {
    let plan = SendingPlan([
      self.entry(1, lane: "a", .backoff, isUnreached: true),
      self.entry(2, lane: "a", .predecessor), self.entry(3, .backoff),
      self.entry(4, .backoff, isUnreached: true), self.entry(5, .retryAfter),
    ]) { _ in true }
    #expect(plan.order.map(\.number) == [1, 2, 4])
    #expect(plan.waiting == ["backoff": 1, "retryAfter": 1])
  }

  @Test func whatIsUrgentGoesFirstWhereItMay() {
    var entries = [
      self.entry(1, lane: "a"), self.entry(2, lane: "a", .predecessor), self.entry(3),
      self.entry(4), self.entry(5, .dependency),
    ]
    entries[1].priority = .high
    entries[3].priority = .high
    entries[4].priority = .high
    let plan = SendingPlan(entries, dependencies: [5: [3]]) { _ in true }
    #expect(plan.order.map(\.number) == [4, 1, 2, 3, 5])
  }

  @Test func oneThatStaysHoldsThoseBehindItInItsLane() {
    let plan = self.plan(
      self.entry(1, lane: "a", .retryAfter), self.entry(2, lane: "a", .predecessor),
      self.entry(3, lane: "b", state: .leased), self.entry(4, lane: "b", .predecessor),
      self.entry(5, lane: "c", name: "other"), self.entry(6, lane: "c", .predecessor),
      self.entry(7, lane: "d", state: .dead), self.entry(8, lane: "d", .predecessor),
      self.entry(9, name: "other"))
    #expect(plan.order == [])
    #expect(plan.waiting == ["retryAfter": 1, "predecessor": 4])
  }

  @Test func aDependantGoesAfterWhatItNeedsAndStaysWhereThatStays() {
    let entries = [
      self.entry(1), self.entry(2, .backoff), self.entry(3, .dependency),
      self.entry(4, .dependency), self.entry(5, lane: "a"),
      self.entry(6, lane: "a", .predecessor), self.entry(7, .dependency),
      self.entry(8, .dependency),
    ]
    let plan = SendingPlan(entries, dependencies: [3: [1], 4: [1, 2], 6: [4], 7: [3, 5]]) { _ in
      true
    }
    #expect(plan.order.map(\.number) == [1, 3, 5, 7])
    #expect(plan.waiting == ["backoff": 1, "dependency": 3], "8 waits for an alias")
  }

  @Test func laneAndMaximumLeaveOutTheRest() {
    var plan = self.plan(
      self.entry(1), self.entry(2, lane: "a"), self.entry(3, lane: "a", .predecessor),
      self.entry(4, lane: "b"))
    plan.keep(lane: "a", maximum: nil)
    #expect(plan.order.map(\.number) == [2, 3])
    plan.keep(lane: nil, maximum: 1)
    #expect(plan.order.map(\.number) == [2])
  }

  @Test func nothingIsSentDuringAPause() {
    let plan = self.plan(self.entry(1, .paused), self.entry(2, lane: "a", .paused))
    #expect(plan.order == [])
    #expect(plan.waiting == ["paused": 2])
  }
}
