import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

@Suite struct OutboxTransactionSettleTests {
  /// A file with both, as a tool or damage may leave it: the row ends all the same.
  @Test func aRowEndsBesideARecordOfAnEarlierEnd() async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.outbox.enqueue(OutboxScratch.mutation("a"), claiming: true)
    _ = try await scratch.outbox.settle(try #require(first.lease), OutboxScratch.success)
    let id = try await scratch.add("b")
    try scratch.damage("UPDATE history SET id = (SELECT id FROM outbox)")
    let lease = try #require(try await scratch.claim().first)
    #expect(lease.entry.id == id)
    _ = try await scratch.outbox.settle(lease, OutboxScratch.success)
    #expect(try scratch.outbox.entries().isEmpty)
    #expect(try scratch.rows("SELECT count(*) || history_count FROM history, partitions") == ["11"])
    try await scratch.storage.close()
  }
}
