import Foundation
import TestSupport
import Testing

/// Replay §4 and reliability: processes that are killed lose nothing that was acknowledged, keep each
/// lane's order, and send twice only under one key.
@Suite struct KilledReplayTests {
  /// How often a process is killed, 500 times in the full run.
  private static let rounds =
    ProcessInfo.processInfo.environment["FULL"] != nil ? 500 : Sanitizer.isOn ? 4 : 20

  @Test func whatWasAcknowledgedIsSentInOrderAfterAKillAtAnyMoment() async throws {
    let seed = UInt64(0xDEAD)
    var generator = SeededGenerator(seed: seed)
    for round in 1...Self.rounds {
      // Up to 31 it is the so many-th line; past the last line it is killed while it sends.
      let moment = Int.random(in: 0...45, using: &generator)
      try await Self.killOnce(at: moment, "seed \(seed), round \(round)")
    }
  }

  private static func killOnce(at moment: Int, _ comment: Comment) async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer(isSerial: true) { _, number in
      // Some answers are lost, so that the fate of the writes behind them is not known.
      number % 7 == 0 ? .raw("") : .status(200)
    }
    let url = server.url.absoluteString
    let worker = try ReplayProcess(["both", folder.path, url, "a", "30", "5"])
    var acknowledged = [Acknowledgement]()
    var seen = 0
    for await line in worker.child.lines {
      if let acknowledgement = Acknowledgement(line) { acknowledged.append(acknowledgement) }
      seen += 1
      if seen == min(max(moment, 1), 31) {
        if moment > 31 { await server.requests.wait(forCount: (moment - 31) * 2) }
        worker.child.kill()
      }
    }
    _ = await worker.child.end()
    let heir = try ReplayProcess(["replay", folder.path, url])
    let lines = await heir.rest()
    #expect(lines.last == "drained", comment)
    #expect(await heir.child.end() == .code(0), comment)
    let log = DeliveryLog(server)
    log.expectAll(of: acknowledged, comment)
    log.expectOrder(comment)
  }

  @Test(arguments: [2, 6])
  func severalProcessesReplayOneOutboxAndAreKilledAtRandom(count: Int) async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer(isSerial: true) { _, number in
      number % 11 == 0 ? .status(503, headers: ["Retry-After": "0"]) : .status(200)
    }
    let (path, url) = (folder.path, server.url.absoluteString)
    let writer = try ReplayProcess(["enqueue", path, url, "a", "300", "30"])
    let acknowledged = await writer.rest().compactMap { Acknowledgement($0) }
    #expect(acknowledged.count == 300)
    var generator = SeededGenerator(seed: UInt64(count))
    let victims = (0..<count).map { _ in
      (0..<3).map { _ in Int.random(in: 1...40, using: &generator) }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for kills in victims {
        group.addTask {
          // Each victim is followed by another one; the last runs to the end.
          for requests in kills {
            let process = try ReplayProcess(["replay", path, url])
            _ = await process.child.line()
            await server.requests.wait(forCount: min(server.requests.count + requests, 290))
            process.child.kill()
            _ = await process.child.end()
          }
          let last = try ReplayProcess(["replay", path, url])
          #expect(await last.rest().last == "drained")
        }
      }
      try await group.waitForAll()
    }
    let log = DeliveryLog(server)
    log.expectAll(of: acknowledged, "\(count) processes")
    log.expectOrder("\(count) processes")
  }
}
