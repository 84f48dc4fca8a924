import Foundation
import TestSupport
import Testing

@testable import cache_bench

/// The program as it is run.
@Suite struct CacheBenchTests {
  private func measure(_ filter: String) async throws -> [[String: Any]] {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: file) }
    let child = try ChildProcess(
      ChildProcess.product("cache-bench"),
      ["--quick", "--filter", filter, "--json", file.path])
    for await _ in child.lines {}
    // Whether goals are met does not matter, least of all without optimisation.
    #expect([.code(0), .code(1)].contains(await child.end()))
    let object = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
    return try #require(object?["rows"] as? [[String: Any]])
  }

  /// The promise of the lean program is the same: each commit is synced. It writes less than C does on the
  /// library's tables.
  @Test(.disabled(if: Sanitizer.isOn, "beside a sanitizer's own, writes are not counted"))
  func framesAndSyncsAreCountedOfAllThree() async throws {
    let row = try #require(try await self.measure("mutate-100-at-once").first)
    #expect(row["failure"] is NSNull)
    let syncs = ["syncs", "floorSyncs", "leanSyncs"].map { row[$0] as? Double ?? 0 }
    #expect(syncs[0] >= 2 && syncs[0] <= 20)
    #expect(syncs[1] == 2 && syncs[2] == 2)
    let frames = ["frames", "floorFrames", "leanFrames"].map { row[$0] as? Double ?? 0 }
    #expect(frames[2] > 50 && frames[2] < frames[1] && frames[0] > 50)
    let bytes = ["bytesWritten", "floorBytesWritten", "leanBytesWritten"]
      .map { row[$0] as? Double ?? 0 }
    for (bytes, frames) in zip(bytes, frames) { #expect(bytes >= frames * 4_120) }
    let times = ["processorTime", "floorProcessorTime", "leanProcessorTime"]
    #expect(times.allSatisfy { row[$0] as? Double ?? 0 > 0 })
  }

  /// The counts of a process of its own come from it.
  @Test func aProcessThatOnlyReadsSyncsNothing() async throws {
    let row = try #require(try await self.measure("memory-resident").first)
    #expect(row["failure"] is NSNull)
    for key in ["syncs", "frames", "leanSyncs", "leanFrames"] { #expect(row[key] as? Double == 0) }
    let memory = ["figure", "floor", "lean"].map { row[$0] as? Double ?? 0 }
    #expect(memory[2] > 1_000_000 && memory[2] < memory[1] && memory[1] < memory[0])
  }

  @Test(arguments: [
    ("claim-ready,log-new-entry,entry", ["log-changed-entry", "log-new-entry", "claim-ready"]),
    ("log-new-entry", ["log-new-entry"]),
  ])
  func aFilterOfSeveralPartsNamesEachRowOnce(filter: String, names: [String]) async throws {
    let child = try ChildProcess(
      ChildProcess.product("cache-bench"), ["--list", "--filter", filter])
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    #expect(await child.end() == .code(0))
    #expect(lines == names)
  }

  @Test(arguments: ["log-new-entry,nothing", "nothing", "log-new-entry,", ","])
  func aPartOfAFilterThatNamesNoRowIsRefused(filter: String) async throws {
    let child = try ChildProcess(
      ChildProcess.product("cache-bench"), ["--list", "--filter", filter])
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    #expect(await child.end() == .code(64))
    #expect(lines.isEmpty)
  }
}
