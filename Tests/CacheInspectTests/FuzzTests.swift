import Foundation
import TestSupport
import Testing
import ToolSupport

@testable import cache_inspect

/// Reliability, hostile input: no command line and no file makes the tool crash, or end with a code that is
/// not in its manual.
@Suite struct FuzzTests {
  private static let isFull = ProcessInfo.processInfo.environment["FULL"] == "1"
  private static let codes = Set(CommandTable.tool.exitCodes.map(\.code.rawValue))

  private static let pieces = [
    "list", "show", "pages", "history", "outbox", "why", "stats", "check", "export", "import",
    "report", "remove", "evict", "vacuum", "quarantine", "drop", "--json", "--utc", "-u", "--kind",
    "query", "--matching", "[\"texts\"]", "[", "--invalidated", "--failed", "--sort", "size", "-n",
    "0", "1", "-1", "99999999999999999999", "--limit=", "--limit=3", "--value", "--page", "#0",
    "--outbox", "-o", "/nonexistent/x", "/dev/null/x", "--yes", "-y", "--all", "--to-bytes", "100",
    "--to-entries=1", "--older-than", "1s", "1000000d", "--", "-", "", "b9b7", "092f5f", "a", "2",
    "10000000-0000-4000-8000-000000000002", "--partition", "-p", "other", "../..", "\u{202e}",
    "\u{1b}[31m", "--help", "-h", "--version", "--generate-man", "-xyz", "--no-such", "é\u{301}",
    String(repeating: "x", count: 5_000), "%s%n", "'; DROP TABLE entries; --",
  ]

  @Test func noCommandLineMakesItCrash() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    let store = try SampleStore()
    for round in 0..<(Self.isFull ? 10_000 : 200) {
      var words = ["--store", store.path]
      for _ in 0..<Int.random(in: 0...6, using: &generator) {
        words.append(Self.pieces.randomElement(using: &generator) ?? "")
      }
      // A word may be the name of a file that it makes.
      let run = try await InspectorRun(words, input: "", in: store.path)
      let isKnown = run.code.map { Self.codes.contains($0) } ?? false
      #expect(isKnown, "seed \(seed), round \(round): \(words.dropFirst(2)): \(run)")
      #expect(run.errors.count <= 2 || run.code == 65, "\(words): \(run.errors)")
    }
  }

  @Test func noDamagedFileMakesItCrash() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    let store = try SampleStore()
    let commands = [
      ["list"], ["show", "b9b7"], ["pages", "b9b7"], ["history"], ["outbox"],
      ["outbox", "show", "2"], ["outbox", "why", "4"], ["stats"], ["check"],
      ["export", "--outbox"],
      ["quarantine", "list"], ["list", "--json", "--sort", "size"], ["vacuum", "-y"],
      ["remove", "c951", "-y"], ["report", "-o", "/dev/null"], ["metrics"],
    ]
    let names = ["cache.sqlite", "mutations.sqlite", "mutations.sqlite-wal"]
    var sound = [String: Data]()
    for name in names {
      sound[name] = FileManager.default.contents(atPath: "\(store.path)/\(name)")
    }
    for round in 0..<(Self.isFull ? 1_000 : 50) {
      for name in names {
        guard var bytes = sound[name] else { continue }
        for _ in 0..<Int.random(in: 0...30, using: &generator) where !bytes.isEmpty {
          bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(
            in: 0...255, using: &generator)
        }
        if Int.random(in: 0..<4, using: &generator) == 0 {
          bytes = bytes.prefix(Int.random(in: 0...bytes.count, using: &generator))
        }
        try bytes.write(to: URL(filePath: "\(store.path)/\(name)"))
      }
      for name in ["cache.sqlite-wal", "cache.sqlite-shm", "mutations.sqlite-shm"] {
        try? FileManager.default.removeItem(atPath: "\(store.path)/\(name)")
      }
      let command = commands.randomElement(using: &generator) ?? []
      let run = try await InspectorRun(command + ["-s", store.path])
      let isKnown = run.code.map { Self.codes.contains($0) } ?? false
      #expect(isKnown, "seed \(seed), round \(round): \(command): \(run.errors)")
    }
  }
}
