import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct ForgottenRowTests {
  /// Sends mutations, and then others, a day later, so that the history forgets most of the first.
  private func send(_ count: Int, by scratch: OutboxScratch) async throws -> [UUID] {
    let ids = try await self.sendNow(count, by: scratch)
    try scratch.damage("UPDATE history SET ended_at = ended_at - 86401000000")
    _ = try await self.sendNow(count, by: scratch)
    return ids
  }

  private func sendNow(_ count: Int, by scratch: OutboxScratch) async throws -> [UUID] {
    var ids = [UUID]()
    for _ in 0..<count {
      let enqueued = try await scratch.outbox.enqueue(OutboxScratch.mutation(), claiming: true)
      _ = try await scratch.outbox.settle(try #require(enqueued.lease), OutboxScratch.success)
      ids.append(enqueued.entry.id)
    }
    return ids
  }

  /// Of the last million that ended, what the history has forgotten is remembered.
  @Test func thereIsALimit() async throws {
    let first = try OutboxScratch { $0.mutationHistory.perMutation = 1 }
    let old = try await self.send(20, by: first)
    try await first.storage.close()
    #expect(try first.rows("SELECT count(*) > 10 FROM forgotten") == ["1"])
    try first.damage("UPDATE partitions SET last_sequence = 1000020")
    let next = try OutboxScratch(in: first.folder) { $0.mutationHistory.perMutation = 1 }
    let new = try await self.send(20, by: next)
    #expect(try next.rows("SELECT min(sequence) > 1000000 FROM forgotten") == ["1"])
    await #expect(throws: OutboxError.unknownDependencies([old[0]])) {
      try await next.add(after: [new[0], old[0]])
    }
    try await next.storage.close()
  }

  @Test func aWordOfALaterReleaseIsAnEndWithoutSuccess() async throws {
    let scratch = try OutboxScratch { $0.mutationHistory.perMutation = 1 }
    let sent = try await self.send(20, by: scratch)
    try scratch.damage("UPDATE forgotten SET outcome = 'delegated'")
    await #expect(throws: OutboxError.ended(sent[0])) { try await scratch.add(after: [sent[0]]) }
    try await scratch.storage.close()
  }
}
