import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

/// Replay §6: one process pauses, and no process sends of that, whatever happens to them.
@Suite struct PausedReplayTests {
  @Test(arguments: [OutboxPause.lane("a-1"), .everything])
  func whatIsPausedIsSentByNoProcessUntilItIsResumed(_ pause: OutboxPause) async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer(isSerial: true) { _, _ in .status(200) }
    let url = server.url.absoluteString
    let storage = try SQLiteQueryStorage(directory: folder.url)
    try await storage.outbox.pause(pause)
    // Enqueueing goes on.
    let writer = try ReplayProcess(["enqueue", folder.path, url, "a", "30", "3"])
    let acknowledged = await writer.rest().compactMap { Acknowledgement($0) }
    #expect(acknowledged.count == 30)
    let victim = try ReplayProcess(["replay", folder.path, url])
    _ = await victim.child.line()
    if pause != .everything { await server.requests.wait(forCount: 5) }
    victim.child.kill()
    _ = await victim.child.end()
    let heir = try ReplayProcess(["replay", folder.path, url])
    if pause != .everything { await server.requests.wait(forCount: 20) }
    // What waits, waits for the end of the pause; a row that runs is not of it.
    while true {
      let live = try storage.outbox.entries()
      if live.allSatisfy({ $0.waitReason == .paused || $0.waitReason == .predecessor }) { break }
      await Task.yield()
    }
    let received = DeliveryLog(server).received
    let sent = Set(received.map(\.lane))
    #expect(sent == (pause == .everything ? [] : ["a-0", "a-2"]))
    let held = try storage.outbox.entries()
    #expect(held.count == (pause == .everything ? 30 : 10))
    try await storage.outbox.resume(pause)
    #expect(await heir.rest().last == "drained")
    let log = DeliveryLog(server)
    log.expectAll(of: acknowledged, "\(pause)")
    log.expectOrder("\(pause)")
    try await storage.close()
  }
}
