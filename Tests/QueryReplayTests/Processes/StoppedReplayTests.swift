import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

/// Replay §4: what another process may take from one that does not move, and what it may not.
@Suite struct StoppedReplayTests {
  private static let handler = MutationHandler(
    name: "send-note", instance: #"["send-note"]"#, version: 1, upgradesOlder: false)

  @Test func aProcessStoppedPastItsLeaseSettlesNothingWhenItGoesOn() async throws {
    let folder = try ScratchFolder()
    let gate = Gate()
    // The first sending is answered when the test says so, later ones at once.
    let server = try LoopbackServer { _, number in
      number == 1 ? .afterGate(gate, .status(200)) : .status(200)
    }
    let url = server.url.absoluteString
    let first = try ReplayProcess(["mutate", folder.path, url, "a"], leaseMilliseconds: 500)
    await server.requests.wait(forCount: 1)
    try await first.stop(outsideCommitsTo: folder.url)
    let second = try ReplayProcess(["replay", folder.path, url], leaseMilliseconds: 500)
    #expect(await second.rest().last == "drained")
    let storage = try SQLiteQueryStorage(directory: folder.url)
    #expect(try storage.outbox.counts.rows == OutboxCounts())
    gate.open()
    first.child.send(SIGCONT)
    // It takes the outcome from the process that has had the row since.
    #expect(await first.rest().contains("done"))
    let notes = DeliveryLog(server).received
    #expect(Set(notes.map(\.key)).count == 1)
    #expect(notes.map(\.maybeApplied) == [false, true])
    #expect(try storage.outbox.counts.rows == OutboxCounts())
    let history = try storage.outbox.history(of: "send-note", instance: Self.handler.instance)
    #expect(history.map(\.state) == [.ended(.succeeded)])
    #expect(history.map(\.attempts) == [2])
    try await storage.close()
  }

  @Test(.enabled(if: getuid() == 0, "only root may make a process namespace"))
  func anotherProcessNamespaceDoesNotMakeALiveOwnerLookDead() async throws {
    let unshare = try #require(ChildProcess.system("unshare"), "util-linux is there")
    let folder = try ScratchFolder()
    let gate = Gate()
    let server = try LoopbackServer { _, _ in .afterGate(gate, .status(200)) }
    let url = server.url.absoluteString
    let worker = try ChildProcess.product("replay-worker")
    let owner = try ChildProcess(
      unshare, ["--pid", "--fork", "--kill-child", worker, "mutate", folder.path, url, "a"])
    await server.requests.wait(forCount: 1)
    let storage = try SQLiteQueryStorage(directory: folder.url)
    // A claim takes back the rows of processes that are gone.
    let claim = try await storage.outbox.claim(ClaimRequest(.lowest(handledBy: [Self.handler])))
    #expect(claim.leases.isEmpty)
    #expect(try storage.outbox.counts.leased == 1)
    gate.open()
    var lines = [String]()
    for await line in owner.lines { lines.append(line) }
    #expect(lines.contains("done"))
    try await storage.close()
  }

  @Test func theRowOfAKilledProcessIsSentAtOnceUnderItsKeyAndSaysThatItMayHaveBeenApplied()
    async throws
  {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { _, number in number <= 4 ? .silence : .status(200) }
    let url = server.url.absoluteString
    for number in 1...4 {
      let victim = try ReplayProcess([number == 1 ? "mutate" : "replay", folder.path, url, "a"])
      await server.requests.wait(forCount: number)
      victim.child.kill()
      _ = await victim.child.end()
    }
    let last = try ReplayProcess(["replay", folder.path, url])
    #expect(await last.rest().last == "drained")
    let notes = DeliveryLog(server).received
    #expect(notes.map(\.maybeApplied) == [false, true, true, true, true])
    #expect(Set(notes.map(\.key)).count == 1)
  }

  /// Whatever else ran when it took the process down.
  @Test func theOthersAreDelivered() async throws {
    let folder = try ScratchFolder()
    let isFirst = Locked(true)
    let server = try LoopbackServer { request, _ in
      let isBomb = request.headers["x-lane"] == "a-0"
      return isBomb || isFirst.withLock { $0 } ? .silence : .status(200)
    }
    let url = server.url.absoluteString
    let writer = try ReplayProcess(["enqueue", folder.path, url, "a", "3", "3"])
    #expect(await writer.rest().last == "drained")
    for round in 1...6 {
      let victim = try ReplayProcess(["replay", folder.path, url])
      await server.requests.wait { requests in
        requests.filter { $0.headers["x-lane"] == "a-0" }.count == round && requests.count > round
      }
      victim.child.kill()
      _ = await victim.child.end()
      isFirst.withLock { $0 = false }
    }
    let last = try ReplayProcess(["replay", folder.path, url])
    #expect(await last.rest().last == "drained")
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let dead = try storage.outbox.entries(in: .dead)
    #expect(dead.map(\.deadReason) == [.crashLoop])
    #expect(dead.map(\.number) == [1])
    let history = try storage.outbox.history(of: "send-note", instance: Self.handler.instance)
    #expect(history.filter { $0.state == .ended(.succeeded) }.count == 2)
    try await storage.close()
  }

  @Test func aMutationThatTakesItsProcessDownFiveTimesIsDead() async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { _, _ in .silence }
    let url = server.url.absoluteString
    for number in 1...5 {
      let victim = try ReplayProcess([number == 1 ? "mutate" : "replay", folder.path, url, "a"])
      await server.requests.wait(forCount: number)
      victim.child.kill()
      _ = await victim.child.end()
    }
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let claim = try await storage.outbox.claim(ClaimRequest(.lowest(handledBy: [Self.handler])))
    #expect(claim.leases.isEmpty)
    #expect(try storage.outbox.entries(in: .dead).map(\.deadReason) == [.crashLoop])
    try await storage.close()
  }
}
