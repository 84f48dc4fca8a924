import Foundation
import TestSupport
import Testing

/// The static probes, as a tool shows them that watches programs.
@Suite struct ProbeScriptsTests {
  private static var isBuilt: Bool {
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/include")) ?? []
    return ([""] + folders).contains {
      FileManager.default.fileExists(atPath: "/usr/include/\($0)/sys/sdt.h")
    }
  }

  @Test(
    .enabled(
      if: Self.isBuilt && ChildProcess.system("readelf") != nil,
      "there is no <sys/sdt.h>, or no readelf"))
  func aProgramHasThem() async throws {
    let program = try ChildProcess.product("cache-inspect")
    let child = try ChildProcess(
      try #require(ChildProcess.system("readelf")), ["-n", program])
    var names = Set<String>()
    var isOurs = false
    for await line in child.lines {
      let parts = line.split(separator: ":", maxSplits: 1).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      guard parts.count == 2 else { continue }
      if parts[0] == "Provider" { isOurs = parts[1] == "offline_query" }
      if parts[0] == "Name", isOurs { names.insert(parts[1]) }
    }
    _ = await child.end()
    #expect(
      names.isSuperset(of: [
        "fetch_begin", "fetch_end", "hydrate_begin", "hydrate_end", "cache_commit", "write_hold",
        "checkpoint", "evict", "degraded", "recovered", "enqueue", "claim", "settle", "dead",
      ]))
  }

  /// bpftrace needs the privilege to trace, and the process to be there.
  @Test(
    .enabled(
      if: Self.isBuilt && geteuid() == 0 && ChildProcess.system("bpftrace") != nil,
      "there is no <sys/sdt.h>, no bpftrace, or no privilege to trace"),
    arguments: ["outbox", "files", "queries"])
  func aScriptForBpftraceIsRead(_ name: String) async throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let child = try ChildProcess(
      try #require(ChildProcess.system("bpftrace")),
      ["-p", "\(getpid())", root.appending(path: "Tools/probes/\(name).bt").path], errors: .pipe)
    var lines = child.lines.makeAsyncIterator()
    let first = await lines.next()
    #expect(first?.hasPrefix("Attaching") == true, "\(first ?? "nothing")")
    child.kill()
    _ = await child.end()
  }
}
