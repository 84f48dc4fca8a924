import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

/// Processes that are killed while they send several mutations in one call, or the urgent ones first.
@Suite struct KilledBatchTests {
  private func enqueue(
    _ count: Int, lanes: Int, _ folder: ScratchFolder, _ server: LoopbackServer
  ) async throws -> [Acknowledgement] {
    let writer = try ReplayProcess([
      "enqueue", folder.path, server.url.absoluteString, "a", "\(count)", "\(lanes)",
    ])
    let acknowledged = await writer.rest().compactMap { Acknowledgement($0) }
    #expect(acknowledged.count == count)
    return acknowledged
  }

  @Test func whatWasInABatchGoesAloneAfterAKillUnderItsKeys() async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { _, number in number == 1 ? .silence : .status(200) }
    let acknowledged = try await self.enqueue(30, lanes: 1, folder, server)
    let arguments = ["batches", folder.path, server.url.absoluteString]
    let first = try ReplayProcess(arguments)
    await server.requests.wait(forCount: 1)
    first.child.kill()
    _ = await first.child.end()
    let heir = try ReplayProcess(arguments)
    #expect(await heir.rest().last == "drained")
    let sizes = server.requests.elements.map { ReceivedNote.all(in: $0).count }
    // Any of the ten may be what has killed the process.
    #expect(sizes == [10] + Array(repeating: 1, count: 10) + [10, 10])
    let log = DeliveryLog(server)
    #expect(log.received.map(\.number) == Array(0..<10) + Array(0..<30))
    log.expectAll(of: acknowledged, "")
    log.expectOrderOfFirstArrivals("")
  }

  @Test(arguments: [1, 2]) func batchesOfProcessesKilledAtRandomLoseNothing(count: Int) async throws
  {
    let folder = try ScratchFolder()
    let server = try LoopbackServer(isSerial: true) { _, number in
      number % 5 == 0 ? .raw("") : .status(200)
    }
    let acknowledged = try await self.enqueue(120, lanes: 3, folder, server)
    let arguments = ["batches", folder.path, server.url.absoluteString]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for victim in 0..<count {
        group.addTask {
          for round in 0..<2 {
            let process = try ReplayProcess(arguments)
            _ = await process.child.line()
            await server.requests.wait(forCount: min(2 + round * 3 + victim, 8))
            process.child.kill()
            _ = await process.child.end()
          }
          let last = try ReplayProcess(arguments)
          #expect(await last.rest().last == "drained")
        }
      }
      try await group.waitForAll()
    }
    let log = DeliveryLog(server)
    log.expectAll(of: acknowledged, "\(count) processes")
    log.expectOrderOfFirstArrivals("\(count) processes")
  }

  /// The server answers a batch whose process was stopped until another one had sent all of it.
  @Test func aBatchOfAProcessThatHasLostItsLeasesSettlesNothing() async throws {
    let (folder, gate) = (try ScratchFolder(), Gate())
    let server = try LoopbackServer { _, number in
      number == 1 ? .afterGate(gate, .status(200)) : .status(200)
    }
    let acknowledged = try await self.enqueue(10, lanes: 1, folder, server)
    let arguments = ["batches", folder.path, server.url.absoluteString]
    let first = try ReplayProcess(arguments, leaseMilliseconds: 500)
    await server.requests.wait(forCount: 1)
    try await first.stop(outsideCommitsTo: folder.url)
    let second = try ReplayProcess(arguments, leaseMilliseconds: 500)
    #expect(await second.rest().last == "drained")
    gate.open()
    first.child.send(SIGCONT)
    #expect(await first.rest().last == "drained")
    let log = DeliveryLog(server)
    #expect(log.received.count == 20)
    log.expectAll(of: acknowledged, "")
    log.expectOrderOfFirstArrivals("")
    let storage = try SQLiteQueryStorage(directory: folder.url)
    #expect(try storage.outbox.counts.rows == OutboxCounts())
    let history = try storage.outbox.history(of: "send-note", instance: #"["send-note"]"#)
    #expect(history.count == 10)
    #expect(history.allSatisfy { $0.state == .ended(.succeeded) && $0.attempts == 2 })
    try await storage.close()
  }

  /// Two at a time, of which one is killed with what it sends.
  @Test func whatIsUrgentGoesFirstInTwoProcessesOfWhichOneIsKilled() async throws {
    let (folder, gate) = (try ScratchFolder(), Gate())
    let server = try LoopbackServer { _, number in
      number <= 4 ? .afterGate(gate, .status(200)) : .status(200)
    }
    let (path, url) = (folder.path, server.url.absoluteString)
    let writer = try ReplayProcess(["urgent", path, url, "20"])
    let acknowledged = await writer.rest().compactMap { Acknowledgement($0) }
    #expect(acknowledged.count == 25)
    let victim = try ReplayProcess(["hasty", path, url])
    await server.requests.wait(forCount: 2)
    let other = try ReplayProcess(["hasty", path, url])
    await server.requests.wait(forCount: 4)
    #expect(DeliveryLog(server).received.allSatisfy { $0.lane.hasPrefix("high") })
    victim.child.kill()
    _ = await victim.child.end()
    gate.open()
    #expect(await other.rest().last == "drained")
    let log = DeliveryLog(server)
    log.expectAll(of: acknowledged, "")
    log.expectOrder("")
    let isUrgent = log.received.map { $0.lane.hasPrefix("high") }
    #expect(isUrgent.filter(\.self).count == 7, "the victim's two came twice")
    #expect(isUrgent.lastIndex(of: true) ?? 0 <= 8, "\(isUrgent)")
  }

  @Test func whatIsUrgentGoesFirstInTheHeirOfAKilledProcess() async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { _, number in number <= 2 ? .silence : .status(200) }
    let (path, url) = (folder.path, server.url.absoluteString)
    let writer = try ReplayProcess(["urgent", path, url, "20"])
    let acknowledged = await writer.rest().compactMap { Acknowledgement($0) }
    #expect(acknowledged.count == 25)
    let first = try ReplayProcess(["hasty", path, url])
    await server.requests.wait(forCount: 2)
    first.child.kill()
    _ = await first.child.end()
    let heir = try ReplayProcess(["hasty", path, url])
    #expect(await heir.rest().last == "drained")
    let log = DeliveryLog(server)
    log.expectAll(of: acknowledged, "")
    log.expectOrder("")
    let isUrgent = log.received.map { $0.lane.hasPrefix("high") }
    #expect(isUrgent.filter(\.self).count == 7, "two of the five came twice")
    // Two are under way at a time, and may overtake each other on theirs.
    #expect(isUrgent.lastIndex(of: true) ?? 0 <= 7, "\(isUrgent)")
  }
}
