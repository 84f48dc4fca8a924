import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// Packs in processes that are killed, and in several at a time.
@Suite struct KilledPacksTests {
  private static let isFull = ProcessInfo.processInfo.environment["FULL"] != nil
  private static let members = isFull ? 1_000 : 300
  private static let kills = isFull ? 20 : 6

  /// How often each number was fetched.
  private struct Fetches {
    var counts = [Int: Int]()
    var last: String?

    mutating func take(_ line: String) -> Bool {
      self.last = line
      guard line.hasPrefix("fetched "), let number = Int(line.dropFirst(8)) else { return false }
      self.counts[number, default: 0] += 1
      return true
    }

    var total: Int { self.counts.values.reduce(0, +) }
  }

  @Test func aKillCostsNoMoreFetchesThanWereUnderWay() async throws {
    let folder = try TemporaryFolder()
    var generator = SeededGenerator(seed: 7)
    var fetches = Fetches()
    for round in 1...Self.kills {
      let most = max(Self.members / Self.kills, 2)
      var left = Int.random(in: 0..<most, using: &generator)
      // Each fetch takes 20 ms, and few are made after the one at which it is to be killed: this reader of
      // what it says may be far behind.
      let worker = try WorkerProcess(
        "pack", folder.path, "\(Self.members)", "20000", "\(left + PackRunner.batch)")
      for await line in worker.lines {
        let isFetch = fetches.take(line)
        if line.hasPrefix("whole") { Issue.record("round \(round) came to its end") }
        if isFetch || line == "begun" {
          if left == 0 { worker.killNow() }
          left -= 1
        }
      }
      #expect(await worker.waitForEnd() == nil, "round \(round) was not killed")
    }
    let (code, lines) = try await WorkerProcess("pack", folder.path, "0", "0").finish()
    for line in lines { _ = fetches.take(line) }
    #expect(code == 0)
    #expect(fetches.last == "whole \(Self.members) \(Self.members)")
    #expect(Set(fetches.counts.keys) == Set(0..<Self.members))
    #expect(fetches.total - Self.members <= Self.kills * PackRunner.batch)
    #expect(fetches.counts.values.allSatisfy { $0 <= 1 + Self.kills })
    try Self.expectWhole(folder.path)
  }

  private static func expectWhole(_ folder: String) throws {
    let connection = try DatabaseOpener(kind: .cache, folder: folder).openWriter()
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    #expect(try connection.pragma("PRAGMA foreign_key_check") == nil)
    #expect(
      try connection.pragma(
        """
        SELECT count(*) FROM pack_members AS m JOIN entries AS e
          ON e.partition = m.partition AND e.hash = m.hash
        WHERE m.state = 1 AND m.claimed_by IS NULL AND e.checksum IS NOT NULL
        """) == "\(Self.members)")
    try connection.close()
  }

  @Test func twoProcessesFetchEachMemberOnceAndAThirdSeesTheirProgress() async throws {
    let folder = try TemporaryFolder()
    let scratch = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    let client = QueryClient(storage: scratch)
    // Their requests are made of the data of this list.
    try await client.keep("area") {
      for number in 0..<Self.members { DataText(number: number, microseconds: 2_000) }
    }
    await client.packs.stop()
    let pack = try #require(try await client.packs.list().first)
    let before = pack.progress.done
    let workers = try (1...2).map { _ in try WorkerProcess("pack", folder.path, "0", "0") }
    var fetches = Fetches()
    for worker in workers {
      let (code, lines) = await worker.finish()
      #expect(code == 0)
      for line in lines { _ = fetches.take(line) }
      #expect(fetches.last == "whole \(Self.members) \(Self.members)")
    }
    #expect(fetches.total == Self.members - before)
    #expect(fetches.counts.values.allSatisfy { $0 == 1 })
    let progress = try await pack.whole()
    #expect(progress.done == Self.members)
    try await scratch.close()
  }

  @Test func whatAKilledProcessHadClaimedIsClaimedAtOnce() async throws {
    let folder = try TemporaryFolder()
    let worker = try WorkerProcess("pack", folder.path, "20", "3600000000")
    for await line in worker.lines where line.hasPrefix("fetched") { worker.killNow() }
    _ = await worker.waitForEnd()
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    let packs = try await storage.packs.packs()
    #expect(packs.map(\.counts.claimed) == [1])
    let id = try #require(packs.first?.id)
    let claim = try await storage.packs.claim(PackClaimRequest(id: id, count: 16, now: Date()))
    #expect(claim?.members.count == 1)
    #expect(claim?.members.first?.begunAt != nil)
    // What it had is not another one's while it lives.
    let second = try await storage.packs.claim(PackClaimRequest(id: id, count: 16, now: Date()))
    #expect(second?.members.isEmpty == true)
    let later = Date().addingTimeInterval(601)
    let third = try await storage.packs.claim(PackClaimRequest(id: id, count: 16, now: later))
    #expect(third?.members == claim?.members)
    try await storage.close()
    // A process that ends leaves no file behind.
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/owners").isEmpty)
  }
}

/// The worker's request, as this process lists it: it is not fetched here.
private struct DataText: PackableRequest, Hashable {
  static let packName = "text"

  let number: Int
  let microseconds: Int

  var path: QueryPath { ["packed", self.number] }

  func fetch(
    in context: QueryContext, with continuation: QueryContinuation<String>
  ) async throws -> String {
    throw CancellationError()
  }
}
