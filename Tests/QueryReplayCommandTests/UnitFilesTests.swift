import Foundation
import Testing
import ToolSupport

@testable import QueryReplayCommand

/// The units of systemd that come with the tool.
struct UnitFilesTests {
  private func lines(_ name: String) throws -> [String] {
    var folder = URL(filePath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    let text = try String(
      contentsOf: folder.appending(path: "Tools/units/\(name)"), encoding: .utf8)
    return text.split(separator: "\n").map(String.init)
  }

  @Test func theServiceRunsACommandThatTheToolUnderstands() throws {
    let lines = try self.lines("mutation-replay@.service")
    let start = try #require(lines.first { $0.hasPrefix("ExecStart=") })
    let words = start.split(separator: " ").map(String.init)
    #expect(words.first == "ExecStart=/usr/local/bin/mutation-replay")
    let parsed = try CommandLineParser.parse(
      Array(words.dropFirst()), for: ReplayTool.stock.tool)
    guard case .command(let command) = parsed else {
      Issue.record("it is no command")
      return
    }
    #expect(command.path == ["run"])
    #expect(command.has(RunOption.once))
    #expect(command.text(CommonOption.application) == "%i")
  }

  @Test func onlyWhatNeedsAPersonIsAFailureOfTheService() throws {
    let lines = try self.lines("mutation-replay@.service")
    let codes: [ExitCode] = [.noStore, .unavailable, .workRemains, .interrupted]
    let words = codes.map { "\($0.rawValue)" }.joined(separator: " ")
    #expect(lines.contains("SuccessExitStatus=\(words)"))
  }

  @Test func theTimerStartsTheServiceOfItsName() throws {
    let lines = try self.lines("mutation-replay@.timer")
    #expect(lines.contains("WantedBy=timers.target"))
    #expect(!lines.contains { $0.hasPrefix("Unit=") })
  }
}
