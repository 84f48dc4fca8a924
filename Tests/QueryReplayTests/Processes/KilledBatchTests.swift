import Foundation
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
