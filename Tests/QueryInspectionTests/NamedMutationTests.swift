import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// The tools: the mutation that a person means is the one that is shown, and what ended last comes first.
@Suite struct NamedMutationTests {
  private static func store(_ scratch: OutboxScratch) throws -> StoreInspection {
    try StoreInspection(directory: URL(filePath: scratch.folder.path))
  }

  private static func end(_ scratch: OutboxScratch, as id: UUID = UUID()) async throws -> UUID {
    var mutation = OutboxScratch.mutation()
    mutation.id = id
    let enqueued = try await scratch.outbox.enqueue(mutation, claiming: true)
    _ = try await scratch.outbox.settle(try #require(enqueued.lease), OutboxScratch.success)
    return enqueued.entry.id
  }

  @Test func theNumberOfOneThatHasEndedIsNotTheBeginningOfAnother() async throws {
    let scratch = try OutboxScratch()
    let ended = try await Self.end(
      scratch, as: try #require(UUID(uuidString: "a0000000-0000-4000-8000-000000000000")))
    var live = OutboxScratch.mutation("live")
    live.id = try #require(UUID(uuidString: "15000000-0000-4000-8000-000000000000"))
    _ = try await scratch.outbox.enqueue(live, claiming: false)
    let store = try Self.store(scratch)
    let why = try store.why("1")
    #expect(why.id == ended && why.sentence == "It has ended: succeeded.")
    #expect(throws: InspectionError.notFound("mutation 1")) { try store.mutation(named: "1") }
    #expect(try store.mutation(named: "2").mutation.entry.id == live.id)
    // No mutation has these numbers yet, so they begin an identifier.
    #expect(try store.mutation(named: "15").mutation.entry.id == live.id)
    #expect(try store.why("15000000").id == live.id)
    #expect(throws: InspectionError.notFound("mutation 01")) { try store.mutation(named: "01") }
    #expect(throws: InspectionError.notFound("mutation 3")) { try store.why("3") }
    try await scratch.storage.close()
  }

  /// A number is of one account.
  @Test func theNumberOfAnotherAccountIsNotTheBeginningOfAnIdentifier() async throws {
    let first = try OutboxScratch(partition: "a")
    let second = try OutboxScratch(in: first.folder, partition: "b")
    let other = try await first.add()
    var live = OutboxScratch.mutation("live")
    live.id = try #require(UUID(uuidString: "15000000-0000-4000-8000-000000000000"))
    _ = try await second.outbox.enqueue(live, claiming: false)
    let store = try Self.store(first)
    #expect(try store.mutation(named: "1").mutation.entry.id == other)
    for name in ["1", "2"] {
      let account = name == "1" ? "b" : "a"
      #expect(throws: InspectionError.notFound("mutation \(name)")) {
        try store.mutation(named: name, in: account)
      }
    }
    for scratch in [first, second] { try await scratch.storage.close() }
  }

  @Test func ofSeveralAccountsTheNewestThatEndedComesFirst() async throws {
    let first = try OutboxScratch(partition: "a")
    let second = try OutboxScratch(in: first.folder, partition: "b")
    var ids = [UUID]()
    for _ in 0..<2 {
      ids.append(try await Self.end(first))
      ids.append(try await Self.end(second))
    }
    let store = try Self.store(first)
    func history(_ partition: String? = nil, limit: Int? = nil) throws -> [InspectedHistory] {
      var rows = [InspectedHistory]()
      try store.history(in: partition, limit: limit) { rows.append($0) }
      return rows
    }
    #expect(try history(limit: 1).map(\.entry.id) == [ids[3]])
    #expect(try history(limit: 3).map(\.partition) == ["b", "a", "b"])
    #expect(try history().map(\.entry.id) == ids.reversed())
    #expect(try history("a").map(\.entry.id) == [ids[2], ids[0]])
    #expect(try history("a", limit: 1).map(\.entry.id) == [ids[2]])
    for scratch in [first, second] { try await scratch.storage.close() }
  }
}
