import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct MemoryMutationOutboxTests {
  private let outbox = MemoryQueryStorage().outbox

  private func add(lane: String? = nil) async throws -> UUID {
    try await self.outbox.enqueue(
      NewMutation(name: "a", instance: "i", lane: lane, coder: "json", arguments: Data()),
      claiming: false
    ).entry.id
  }

  @Test func aSubscriberMayReadAndCancelItsSubscription() async throws {
    let heard = Recorder<Int>()
    let outbox = self.outbox
    let own = Locked(QuerySubscription.empty)
    let subscription = outbox.subscribe { _ in
      heard.append((try? outbox.counts.pending) ?? -1)
      own.withLock { $0 }.cancel()
    }
    own.withLock { $0 = subscription }
    _ = try await self.add()
    _ = try await self.add()
    #expect(heard.elements == [1])
  }

  @Test func whoeverLosesItsLeaseMayUseTheOutbox() async throws {
    let outbox = self.outbox
    let id = try await self.add()
    let lease = try #require(
      try await outbox.claim(ClaimRequest(.mutation(id))).leases.first)
    let heard = Recorder<Int>()
    lease.whenRevoked { _ in heard.append((try? outbox.counts.leased) ?? -1) }
    try await outbox.cancel(id)
    #expect(heard.elements == [1])
  }

  @Test func manyClaimsAtATimeNeverLeaseARowTwice() async throws {
    let outbox = self.outbox
    for index in 0..<200 { _ = try await self.add(lane: "\(index % 20)") }
    let handlers: Set = [
      MutationHandler(name: "a", instance: "i", version: 1, upgradesOlder: false)
    ]
    let order = Recorder<OutboxEntry>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let request = ClaimRequest(.lowest(handledBy: handlers), limit: 2)
          while try outbox.counts.pending > 0 {
            for lease in try await outbox.claim(request).leases {
              order.append(lease.entry)
              let success = SuccessfulAttempt(result: nil)
              #expect(try await outbox.settle(lease, .succeeded(success)))
            }
            await Task.yield()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(order.count == 200)
    #expect(Set(order.elements.map(\.id)).count == 200)
    for lane in Set(order.elements.map(\.lane)) {
      let numbers = order.elements.filter { $0.lane == lane }.map(\.number)
      #expect(numbers == numbers.sorted())
    }
  }
}
