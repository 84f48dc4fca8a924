import Foundation
import Query
import TestSupport
import Testing

/// Runs that somebody ends while a request is on its way: its row is pending again when they have
/// ended, not when its lease would have.
struct InterruptedRunTests {
  private struct Way: CustomTestStringConvertible {
    var mode: String
    var signal: Int32
    var code: Int32

    var testDescription: String { "\(self.mode) \(self.signal)" }
  }

  private static let ways = [
    Way(mode: "--once", signal: SIGINT, code: 130), Way(mode: "--once", signal: SIGTERM, code: 130),
    Way(mode: "--watch", signal: SIGINT, code: 0), Way(mode: "--watch", signal: SIGTERM, code: 0),
  ]

  @Test(arguments: Self.ways)
  private func aSignalGivesBackWhatIsLeased(_ way: Way) async throws {
    let server = try LoopbackServer { _, _ in .silence }
    let store = try ReplayStore()
    try await store.add(to: server.url)
    let child = try ToolRun.start(["run", way.mode, "--store", store.path])
    await server.requests.wait(forCount: 1)
    #expect(try await store.counts().rows == OutboxCounts(leased: 1))
    child.send(way.signal)
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    let end = await child.end()
    #expect(end == .code(way.code), "\(lines)")
    let entry = try #require(try await store.entries().first)
    #expect(entry.state == .pending)
    #expect(entry.waitReason == nil, "it is due at once")
    #expect(entry.maybeApplied, "the server may have got it")
    #expect(entry.failures == 0)
  }

  @Test func whoRunsAMutationIsNamedAndThatItHasEndedIfItWasKilled() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    let store = try ReplayStore()
    try await store.add(to: server.url, ids: [.starting("3f")])
    let child = try ToolRun.start(["run", "--once", "--store", store.path])
    await server.requests.wait(forCount: 1)
    let running = try await ToolRun("why", "3f", on: store).lines.joined()
    #expect(running.contains(": It runs in process \(child.pid), owner "))
    child.kill()
    #expect(await child.end() == .signal(SIGKILL))
    let left = try await ToolRun("why", "3f", on: store).lines.joined()
    #expect(left.contains(": It ran in process \(child.pid), owner "))
    #expect(left.hasSuffix(", which has ended: whoever sends next takes it over."))
  }

  @Test func aReaderThatGoesEndsAWatchWith0AndGivesBackWhatIsLeased() async throws {
    let server = try LoopbackServer { _, number in number == 1 ? .status(200) : .silence }
    let store = try ReplayStore()
    try await store.add(2, to: server.url, lane: "inbox")
    let bash = try #require(ChildProcess.system("bash"))
    let tool = try ChildProcess.product("mutation-replay")
    // The reader takes one line, and the second request is what the tool wants to tell of.
    let script = #""$0" run --watch --store "$1" | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}"#
    let child = try ChildProcess(
      bash, ["-c", script, tool, store.path], environment: ToolRun.environment)
    #expect(await child.end() == .code(0))
    let counts = try await store.counts()
    #expect(counts.leased == 0)
  }

  @Test func otherCommandsEndQuietlyWhenTheReaderHasGone() async throws {
    let store = try ReplayStore()
    for _ in 0..<3 { try await store.addOther() }
    let bash = try #require(ChildProcess.system("bash"))
    let tool = try ChildProcess.product("mutation-replay")
    let script = #""$0" "$2" --store "$1" | true; exit ${PIPESTATUS[0]}"#
    for command in ["status", "--help"] {
      let child = try ChildProcess(
        bash, ["-c", script, tool, store.path, command], environment: ToolRun.environment,
        errors: .pipe)
      #expect(await child.end() == .code(0))
      for await line in child.errorLines { Issue.record("it said \(line)") }
    }
  }

  @Test func aWatchSendsWhatComesLater() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let store = try ReplayStore()
    try await store.add(to: server.url)
    let child = try ToolRun.start(["run", "--watch", "--json", "--store", store.path])
    await server.requests.wait(forCount: 1)
    try await store.add(to: server.url)
    await server.requests.wait(forCount: 2)
    var succeeded = 0
    while succeeded < 2, let line = await child.line() {
      if line.contains(#""event":"succeeded""#) { succeeded += 1 }
    }
    child.terminate()
    #expect(await child.end() == .code(0))
    #expect(try await store.counts().rows == OutboxCounts())
  }
}
