import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

struct ChangeCommandTests {
  private let ids = ["3f2a01", "3f2a02", "4b"].map(UUID.starting)

  private func store() async throws -> ReplayStore {
    let store = try ReplayStore()
    for id in self.ids { try await store.addOther(id: id) }
    return store
  }

  @Test func aMutationIsNamedByTheBeginningOfItsIdentifier() async throws {
    let store = try await self.store()
    let run = try await ToolRun("cancel", "4B", "3f2a01", "4b", on: store)
    #expect(run.end == .code(0))
    #expect(
      run.lines
        == [2, 0].map {
          "cancelled \(self.ids[$0].uuidString.lowercased()) create-note"
        })
    #expect(try await store.entries().map(\.id) == [self.ids[1]])
  }

  /// Long before it extends its lease.
  @Test func aProcessThatSendsSeesAtOnceThatAnotherCancels() async throws {
    let store = try ReplayStore()
    let id = self.ids[2]
    try await store.addOther(id: id)
    try await store.open { storage in
      let answer = try await storage.outbox.claim(ClaimRequest(.mutation(id)))
      let lease = try #require(answer.leases.first)
      let child = try ChildProcess(
        ChildProcess.product("mutation-replay"), ["cancel", "4b", "--store", store.path])
      var lines = [String]()
      for await line in child.lines { lines.append(line) }
      #expect(lines == ["asked to cancel \(id.uuidString.lowercased()) create-note"])
      while lease.revocation == nil { await Task.yield() }
      #expect(lease.revocation == .cancelRequested)
    }
  }

  /// Whatever the failure would have led to, and whether the process has seen the request or not.
  @Test func whoWaitsForAWriteThatFailsIsToldThatAnotherProcessHasCancelledIt() async throws {
    let store = try ReplayStore()
    try await store.open { storage in
      var options = MutationPersistenceOptions<Int>()
      options.onConflict = { _, _, context in
        let id = try #require(context.mutationAttempt?.id.uuidString)
        let run = try await ToolRun("cancel", id, on: store)
        #expect(run.lines.map { $0.hasPrefix("asked to cancel ") } == [true])
        return .giveUp
      }
      let save = BlockMutation<Int, Int>(["save"]) { _, _ in
        throw HTTPStatusError(statusCode: 409)
      }
      let mutation = save.persisted(as: "save", options)
      let waiting = QueryClient(storage: storage).store(for: mutation)
      let told = await Task { try await waiting.submit(with: 1) }.result
      let error = #expect(throws: MutationEndedError.self) { try told.get() }
      #expect(error?.reason == .cancelled)
      let counts = try storage.outbox.counts
      #expect(counts == OutboxCounts())
    }
  }

  @Test func anAmbiguousBeginningNamesItsCandidatesAndChangesNothing() async throws {
    let store = try await self.store()
    let run = try await ToolRun("cancel", "4b", "3f2a", on: store)
    #expect(run.end == .code(64))
    let candidates = self.ids[..<2].map { $0.uuidString.lowercased() }
    #expect(
      run.errors == [
        "mutation-replay: “3f2a” is the beginning of 2: \(candidates.joined(separator: ", ")). "
          + "See mutation-replay cancel --help"
      ])
    #expect(try await store.counts().rows == OutboxCounts(pending: 3))
  }

  @Test func whatIsNotThereEndsWith64() async throws {
    let store = try await self.store()
    let run = try await ToolRun("discard", "99", on: store)
    #expect(run.end == .code(64))
    #expect(run.errors.count == 1)
  }

  @Test func aDeadOneIsRetriedWithItsKeyOrANewOneOrDiscarded() async throws {
    let store = try await self.store()
    for id in self.ids { try await store.kill(id) }
    #expect(try await store.counts().rows == OutboxCounts(dead: 3))
    let retry = try await ToolRun("retry", "3f2a01", "--json", on: store)
    let id = self.ids[0].uuidString.lowercased()
    #expect(
      retry.lines == [
        #"{"id":"\#(id)","isOutOfOrder":false,"name":"create-note","result":"retried"}"#
      ])
    #expect(try await ToolRun("retry", "--new-key", "3f2a02", on: store).end == .code(0))
    let unasked = try await ToolRun("discard", "4b", on: store)
    #expect(unasked.end == .code(64), "there is no terminal to ask on")
    #expect(unasked.errors.first?.contains("give --yes") == true)
    #expect(try await store.counts().rows == OutboxCounts(pending: 2, dead: 1))
    #expect(try await ToolRun("discard", "4b", "--yes", on: store).end == .code(0))
    let entries = try await store.entries()
    #expect(entries.map(\.state) == [.pending, .pending])
    #expect(entries[0].idempotencyKey == "key-3F2A0100")
    #expect(entries[1].idempotencyKey != "key-3F2A0200")
  }

  @Test func whatIsNotDeadCannotBeDiscarded() async throws {
    let store = try await self.store()
    let run = try await ToolRun("discard", "4b", "--yes", on: store)
    #expect(run.end == .code(64))
    #expect(run.errors.first?.contains("is not dead; cancel it") == true)
    #expect(try await store.counts().rows == OutboxCounts(pending: 3))
  }

  @Test func anIdentifierIsNeeded() async throws {
    let store = try await self.store()
    for command in ["retry", "discard", "cancel"] {
      #expect(try await ToolRun(command, on: store).end == .code(64))
    }
  }
}
