import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §5 and reliability: after SIGKILL the file is intact, and what was flushed is there.
@Suite struct KilledProcessTests {
  /// How often a process is killed, 500 times in the full run.
  private static let rounds = ProcessInfo.processInfo.environment["FULL"] == nil ? 20 : 500

  @Test func whatWasFlushedSurvivesAKillAtAnyMoment() async throws {
    var generator = SeededGenerator(seed: 0x5EED)
    for round in 1...Self.rounds {
      let folder = try TemporaryFolder()
      let linesToWaitFor = Int.random(in: 0...40, using: &generator)
      let worker = try WorkerProcess(
        "write", folder.path, "a", "50", "10000", "\(Int.random(in: 0...3_000, using: &generator))",
        "7")
      var lastFlush: (round: Int, number: Int)?
      var seen = 0
      for await line in worker.lines {
        if line.hasPrefix("flushed") {
          let numbers = line.split(separator: " ").compactMap { Int($0) }
          lastFlush = (numbers[0], numbers[1])
        }
        seen += 1
        // The rest of what is in the pipe is read too: it was flushed before the kill.
        if seen == linesToWaitFor + 1 { worker.killNow() }
      }
      #expect(await worker.waitForEnd() == nil, "round \(round) was not killed")
      try Self.expectIntact(folder.path)
      try await Self.expect(flushed: lastFlush, in: folder.path, "round \(round)")
    }
  }

  private static func expectIntact(_ folder: String) throws {
    let connection = try DatabaseOpener(kind: .cache, folder: folder).openWriter()
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    try connection.close()
  }

  /// Each note is of the round that was flushed last, or a later one, and whole.
  private static func expect(
    flushed: (round: Int, number: Int)?,
    in folder: String,
    _ comment: Comment
  ) async throws {
    guard let flushed else { return }
    let reader = try WorkerProcess("read", folder, "a", "50")
    let (code, lines) = await reader.finish()
    #expect(code == 0, comment)
    var found = [Int: Int]()
    for line in lines {
      let parts = line.split(separator: " ")
      guard parts.count >= 2, let number = Int(parts[0]) else { continue }
      let head = parts[1].split(separator: "/")
      #expect(head.count == 3 && head[0] == "a" && Int(head[1]) == number, comment)
      found[number] = head.last.flatMap { Int($0) }
    }
    for number in 1...50 {
      let round = number <= flushed.number ? flushed.round : flushed.round - 1
      if round > 0 { #expect((found[number] ?? 0) >= round, comment) }
    }
  }
}
