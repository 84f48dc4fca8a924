import Foundation
import Query
import QueryHTTP
import QuerySQLite
import TestSupport
import Testing

/// What `run` sends, what it says, and how it ends.
struct RunCommandTests {
  @Test func onceSendsEachRequestWithItsKeyAndEndsWith0() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    let ids = try await store.add(5, to: server.url)
    let run = try await ToolRun("run", "--once", on: store)
    #expect(run.end == .code(0))
    #expect(run.errors == [])
    #expect(run.lines.last == "5 sent, 0 failed, 0 waiting, 0 dead")
    let keys = server.requests.elements.compactMap { $0.headers["idempotency-key"] }
    #expect(Set(keys) == Set(ids.map { "key-\($0.uuidString.prefix(8))" }))
    #expect(keys.count == 5)
    #expect(try await store.counts().rows == OutboxCounts())
  }

  @Test func theEventsOfOneRequestAreTheseObjects() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    try await store.add(to: server.url, ids: [.starting("3f")])
    let run = try await ToolRun("run", "--once", "--json", on: store)
    let id = "3f000000-0000-0000-0000-000000000000"
    let time = #/"time":"[0-9TZ:.\-]+"/#
    #expect(
      run.lines.map { $0.replacing(time, with: "T") } == [
        #"{"attempt":1,"event":"attemptStarted","id":"\#(id)","name":"http/1",T}"#,
        #"{"event":"succeeded","id":"\#(id)","name":"http/1",T}"#,
        #"{"dead":0,"event":"ended","failed":0,"others":[],"succeeded":1,"waiting":0}"#,
      ])
  }

  @Test func requestsOfAMutationWithANameAreSentToo() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    let storage = try SQLiteQueryStorage(directory: URL(filePath: store.path))
    let photos = HTTPMutation(name: "photos").durable(.init(scope: .named("photos")))
    try await QueryClient(storage: storage).store(for: photos)
      .enqueue(with: HTTPRequestDescription(url: server.url))
    try await storage.close()
    let run = try await ToolRun("run", "--once", on: store)
    #expect(run.lines.last == "1 sent, 0 failed, 0 waiting, 0 dead")
    #expect(server.requests.count == 1)
  }

  @Test func aNameThatComesWhileItWatchesIsSentToo() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    try await store.add(to: server.url)
    let child = try ToolRun.start(["run", "--watch", "--max", "2", "--store", store.path])
    await server.requests.wait(forCount: 1)
    let storage = try SQLiteQueryStorage(directory: URL(filePath: store.path))
    let photos = HTTPMutation(name: "photos").durable(.init(scope: .named("photos")))
    let ticket = try await QueryClient(storage: storage).store(for: photos)
      .enqueue(with: HTTPRequestDescription(url: server.url))
    for await _ in child.lines {}
    #expect(await child.end() == .code(0), "it has made as many attempts as it may")
    #expect(server.requests.count == 2)
    #expect(try storage.outbox.entry(ticket.id) == nil)
    try await storage.close()
  }

  @Test func rowsOfAnApplicationAreLeftAndNamed() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    let other = try await store.addOther()
    let words = "1 mutation “create-note” (version 1) left to the application \(store.path)"
    let nothing = try await ToolRun("run", "--once", on: store)
    #expect(nothing.end == .code(69), "there is no handler for any row")
    #expect(nothing.lines == ["0 sent, 0 failed, 1 waiting, 0 dead", words])
    try await store.add(to: server.url)
    let some = try await ToolRun("run", "--once", on: store)
    #expect(some.end == .code(0), "others' rows do not count")
    #expect(some.lines.last == words)
    #expect(try await store.entries().map(\.id) == [other])
    #expect(try await store.entries().map(\.attempts) == [0])
  }

  @Test func whatCouldBeSentLaterEndsWith75AndWhatHasDiedWith76() async throws {
    let isBroken = Locked(true)
    let server = try LoopbackServer { _, _ in .status(isBroken.withLock { $0 } ? 503 : 400) }
    let store = try ReplayStore()
    try await store.add(to: server.url)
    let failed = try await ToolRun("run", "--once", on: store)
    #expect(failed.end == .code(75))
    #expect(failed.lines.last == "0 sent, 1 failed, 0 waiting, 0 dead")
    isBroken.withLock { $0 = false }
    let waiting = try await store.entries()
    #expect(waiting.map(\.failures) == [1])
    #expect(failed.lines.contains { $0.contains(": transient, waits (backoff): ") })
    #expect(try await ToolRun("retry", waiting[0].id.uuidString, on: store).end == .code(0))
    let refused = try await ToolRun("run", "--once", on: store)
    #expect(refused.end == .code(76))
    #expect(refused.lines.last == "0 sent, 0 failed, 0 waiting, 1 dead")
    #expect(try await store.counts().rows == OutboxCounts(dead: 1))
    let later = try await ToolRun("run", "--once", on: store)
    #expect(later.end == .code(0), "it did not die in this run")
  }

  @Test func laneAndMaximumAreKept() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    try await store.add(2, to: server.url)
    try await store.add(3, to: server.url, lane: "inbox")
    let two = try await ToolRun("run", "--once", "--lane", "inbox", "--max", "2", on: store)
    #expect(two.end == .code(75))
    #expect(try await store.entries().map(\.lane) == [nil, nil, "inbox"])
    let one = try await ToolRun("run", "--once", "--lane", "inbox", on: store)
    #expect(one.end == .code(0), "the rest is not of this lane")
    let watch = try await ToolRun("run", "--watch", "--max", "2", on: store)
    #expect(watch.end == .code(0), "it ends by itself")
    #expect(try await store.counts().rows == OutboxCounts())
  }

  @Test func theDeadlineGivesBackWhatRuns() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    let store = try ReplayStore()
    try await store.add(to: server.url)
    let once = try await ToolRun("run", "--once", "--deadline", "200ms", on: store)
    #expect(once.end == .code(75))
    #expect(try await store.counts().rows == OutboxCounts(pending: 1))
    let watch = try await ToolRun("run", "--watch", "--deadline", "200ms", on: store)
    #expect(watch.end == .code(0))
    #expect(try await store.counts().rows == OutboxCounts(pending: 1))
  }

  @Test func eitherOnceOrWatchIsNeeded() async throws {
    let store = try ReplayStore()
    try await store.addOther()
    #expect(try await ToolRun("run", on: store).end == .code(64))
    #expect(try await ToolRun("run", "--once", "--watch", on: store).end == .code(64))
  }

  @Test(
    .enabled(if: NetworkNamespace.isOffered, "\(NetworkNamespace.reason)"),
    arguments: [(true, Int32(69)), (false, 0)])
  func withoutANetworkEachHostIsTriedOnceAndWhatWaitsEndsWith69(
    _ hasWork: Bool, _ code: Int32
  ) async throws {
    let namespace = try NetworkNamespace()
    let store = try ReplayStore()
    let id = try await store.add(to: try #require(URL(string: "http://192.0.2.1/")))
    if !hasWork { try await store.kill(id[0]) }
    let child = try namespace.start(
      ChildProcess.product("mutation-replay"), ["run", "--once", "--store", store.path])
    for await _ in child.lines {}
    #expect(await child.end() == .code(code))
    #expect(try await store.entries().map(\.attempts) == [1])
    #expect(try await store.entries().map(\.failures) == [hasWork ? 0 : 1])
  }

  @Test(.enabled(if: NetworkNamespace.isOffered, "\(NetworkNamespace.reason)"))
  func evenOfflineGoesByTheServersAloneNotByTheSystem() async throws {
    let namespace = try NetworkNamespace()
    let store = try ReplayStore()
    try await store.add(3, to: try #require(URL(string: "http://192.0.2.2:1/")))
    let child = try namespace.start(
      ChildProcess.product("mutation-replay"),
      ["run", "--once", "--even-offline", "--store", store.path])
    for await _ in child.lines {}
    #expect(await child.end() == .code(75), "work remains; the network is taken to be there")
    #expect(try await store.entries().allSatisfy { $0.attempts > 0 })
  }
}
