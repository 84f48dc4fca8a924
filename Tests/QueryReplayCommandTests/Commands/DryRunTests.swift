import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

struct DryRunTests {
  @Test func itPrintsTheOrderAndLeasesNothing() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    let lane = try await store.add(2, to: server.url, lane: "inbox")
    try await store.addOther()
    let single = try await store.add(to: server.url)
    let before = try await store.entries()

    let run = try await ToolRun("run", "--dry-run", on: store)
    #expect(run.end == .code(0))
    #expect(run.errors == [])
    let ids = (lane + single).map { $0.uuidString.lowercased() }
    #expect(run.lines.count == 5)
    for (line, id) in zip(run.lines.dropFirst(), ids) { #expect(line.contains(id)) }
    #expect(
      run.lines.last
        == "1 mutation “create-note” (version 1) left to the application \(store.path)")

    let json = try await ToolRun("run", "-n", "--json", on: store)
    #expect(try json.objects().map { $0["id"] as? String } == ids)
    let limited = try await ToolRun(
      "run", "-n", "--json", "--lane", "inbox", "--max", "1", on: store)
    #expect(try limited.objects().map { $0["id"] as? String } == [ids[0]])

    #expect(try await store.entries() == before)
    #expect(server.requests.count == 0)
  }

  @Test func whatDependsOnAnotherMutationGoesAfterIt() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    let store = try ReplayStore()
    let target = try await store.add(to: url)[0]
    let other = try await store.addOther()
    let dependant = try await store.add(to: url, after: [target])[0]
    try await store.add(to: url, lane: "inbox", after: [other])
    let run = try await ToolRun("run", "--dry-run", "--json", on: store)
    let ids = [target, dependant].map { $0.uuidString.lowercased() }
    #expect(try run.objects().map { $0["id"] as? String } == ids)
    let text = try await ToolRun("run", "--dry-run", on: store)
    #expect(text.lines.contains("1 would go on waiting: dependency"))
  }

  @Test func whatARunTriesOnceMoreIsInTheOrder() async throws {
    let closed = try #require(URL(string: "http://127.0.0.1:9/"))
    let store = try ReplayStore()
    let ids = try await store.add(2, to: closed)
    let storage = try SQLiteQueryStorage(directory: URL(filePath: store.path))
    let claim = try await storage.outbox.claim(ClaimRequest(.mutation(ids[0])))
    let unreached = FailedAttempt(
      error: RestoredError(typeName: "T", text: "nobody is there"),
      outcome: MutationFailure.connectivity.word, isCharged: false, maybeApplied: false,
      next: .wait(.backoff, .seconds(3_600)))
    _ = try await storage.outbox.settle(try #require(claim.leases.first), .failed(unreached))
    #expect(try storage.outbox.entry(ids[0])?.waitReason == .backoff)
    try await storage.close()
    let plan = try await ToolRun("run", "--dry-run", "--json", on: store)
    #expect(
      try plan.objects().map { $0["id"] as? String } == ids.map { $0.uuidString.lowercased() })
  }

  @Test func itIsTheOrderInWhichItSends() async throws {
    let store = try ReplayStore()
    let server = try LoopbackServer { _, _ in .status(200) }
    // One lane, so that nothing runs beside it.
    try await store.add(5, to: server.url, lane: "inbox")
    let plan = try await ToolRun("run", "--dry-run", "--json", on: store)
    let keys = try plan.objects().map { $0["idempotencyKey"] as? String }
    #expect(try await ToolRun("run", "--once", on: store).end == .code(0))
    #expect(server.requests.elements.map { $0.headers["idempotency-key"] } == keys)
  }
}
