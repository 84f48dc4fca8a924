import Foundation
import TestSupport
import Testing

/// The bench as it is shipped: real processes on one store, and all that was acknowledged accounted for.
@Suite(.serialized) struct TortureTests {
  /// How long each mode is run, 2.5 minutes in the full run.
  private static let minutes =
    ProcessInfo.processInfo.environment["FULL"] == nil ? "0.08" : "2.5"

  private static func run(_ arguments: [String]) async throws -> (ChildProcess.End, [String]) {
    let child = try ChildProcess(ChildProcess.product("torture"), arguments)
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    return (await child.end(), lines)
  }

  @Test(
    .disabled(if: Sanitizer.isOn, "the bench's leases are shorter than what sanitizers take"),
    arguments: ["calm", "stop", "kill", "mixed"])
  func nothingAcknowledgedIsLost(mode: String) async throws {
    let (end, lines) = try await Self.run(["--mode", mode, "--minutes", Self.minutes])
    let output = lines.joined(separator: "\n")
    #expect(end == .code(0), "\(output)")
    #expect(lines.last?.hasSuffix(" 0 failures") == true, "\(output)")
    #expect(lines.last?.contains(" 0 acknowledged") == false, "\(output)")
  }

  @Test func aWrongArgumentIsAUsageError() async throws {
    let child = try ChildProcess(
      ChildProcess.product("torture"), ["--mode", "wild"], errors: .pipe)
    #expect(
      await child.errorLine()
        == "torture: --mode needs one of calm, stop, kill, mixed; see Tools/torture --help")
    #expect(await child.end() == .code(64))
  }

  @Test func workersEndWithTheBench() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let child = try ChildProcess(
      ChildProcess.product("torture"),
      ["--mode", "calm", "--processes", "3", "--folder", folder])
    var workers = Set<String>()
    while workers.count < 3 {
      workers.formUnion(Self.children(of: child.pid))
      try await Task.sleep(for: .milliseconds(10))
    }
    child.kill()
    _ = await child.end()
    while workers.contains(where: Self.isAlive) { try await Task.sleep(for: .milliseconds(10)) }
  }

  private static func children(of pid: Int32) -> [String] {
    let text = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
    return text?.split(separator: " ").map(String.init) ?? []
  }

  /// Whether a process still runs, rather than only its unreaped end.
  private static func isAlive(_ pid: String) -> Bool {
    let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    return status.map { !$0.contains("State:\tZ") } ?? false
  }

  @Test func whoIsInterruptedEndsItsWorkersAndRemovesItsFolder() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let child = try ChildProcess(
      ChildProcess.product("torture"),
      ["--mode", "calm", "--processes", "3", "--folder", folder])
    // The first line comes before any worker is started.
    _ = await child.line()
    child.send(SIGINT)
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    #expect(await child.end() == .code(130))
    #expect(lines.first == "torture: interrupted")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
  }
}
