import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct OutboxChangesTests {
  private let outbox = MemoryQueryStorage().outbox

  private func add() async throws -> UUID {
    try await self.outbox.enqueue(
      NewMutation(name: "a", instance: "i", coder: "json", arguments: Data()), claiming: false
    ).entry.id
  }

  @Test func theCountsComeAtOnceAndAfterEachChange() async throws {
    var changes = self.outbox.changes.makeAsyncIterator()
    #expect(await changes.next()?.rows == OutboxCounts())
    let id = try await self.add()
    #expect(await changes.next()?.rows == OutboxCounts(pending: 1))
    _ = try await self.outbox.claim(ClaimRequest(.mutation(id)))
    #expect(await changes.next()?.rows == OutboxCounts(leased: 1))
  }

  @Test func countsThatNobodyTookAreReplacedByNewerOnes() async throws {
    var changes = self.outbox.changes.makeAsyncIterator()
    #expect(await changes.next()?.rows == OutboxCounts())
    for _ in 0..<10 { _ = try await self.add() }
    #expect(await changes.next()?.rows == OutboxCounts(pending: 10))
  }

  @Test func aChangeThatChangesNoCountIsNotTold() async throws {
    var changes = self.outbox.changes.makeAsyncIterator()
    let id = try await self.add()
    #expect(await changes.next()?.rows == OutboxCounts(pending: 1))
    try await self.outbox.retry(id)
    try await self.outbox.pause()
    let task = Task { [outbox] in try await outbox.cancel(id) }
    #expect(await changes.next()?.rows == OutboxCounts())
    #expect(try await task.value)
  }

  @Test func aCancelledTaskGetsNoMore() async throws {
    let outbox = self.outbox
    let gate = Gate()
    let task = Task {
      var changes = outbox.changes.makeAsyncIterator()
      _ = await changes.next()
      await gate.passIgnoringCancellation()
      return await changes.next()
    }
    await gate.arrival()
    task.cancel()
    gate.open()
    #expect(await task.value == nil)
  }
}
