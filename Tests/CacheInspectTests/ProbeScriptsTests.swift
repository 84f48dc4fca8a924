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

  // MARK: - Values

  private static let isRead = ConditionTrait.enabled(
    if: Self.isBuilt && ChildProcess.system("gdb") != nil, "there is no <sys/sdt.h>, or no gdb")

  /// The values of a probe in a run of a program, as a debugger reads them: it needs no privilege to look at
  /// what it has started.
  ///
  /// - Parameters:
  ///   - probe: The name of the probe.
  ///   - argument: Which of its arguments, from 0.
  ///   - work: What the worker does, on the store.
  private static func values(
    of probe: String, _ argument: Int, _ work: String, on store: SampleStore
  ) async throws -> [Int] {
    let script = """
      set auto-solib-add off
      handle all nostop noprint pass
      break -probe-stap offline_query:\(probe)
      commands
      silent
      printf "value %ld\\n", (long)$_probe_arg\(argument)
      continue
      end
      run
      """
    let path = "\(store.path)/script.gdb"
    try script.write(toFile: path, atomically: false, encoding: .utf8)
    let child = try ChildProcess(
      try #require(ChildProcess.system("gdb")),
      ["-nx", "-batch", "-readnever", "-x", path, "--args"]
        + [try ChildProcess.product("storage-worker"), work, store.path, "writer"],
      errors: .null)
    var values = [Int]()
    for await line in child.lines where line.hasPrefix("value ") {
      // The worker has lines of its own that begin so.
      if let value = Int(line.dropFirst("value ".count)) { values.append(value) }
    }
    _ = await child.end()
    return values
  }

  @Test(Self.isRead, arguments: [("use", 0), ("fail", 1)])
  func theEndOfAFetchTellsWhetherItHasFailed(_ work: String, _ value: Int) async throws {
    let store = try SampleStore(isEmpty: true)
    #expect(try await Self.values(of: "fetch_end", 1, work, on: store) == [value])
  }

  /// The worker makes two stores, and gives the second one its process's number.
  @Test(Self.isRead) func theEndOfAReadTellsHowManyBytesThereWere() async throws {
    let store = try SampleStore(isEmpty: true)
    #expect(try await Self.values(of: "hydrate_end", 1, "use", on: store) == [-1, -1])
    let values = try await Self.values(of: "hydrate_end", 1, "use", on: store)
    #expect(values.first == -1 && values.count == 2)
    // In quotation marks.
    #expect((3...12).contains(values.last ?? 0))
  }
}
