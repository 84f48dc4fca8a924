import Foundation
import TestSupport
import Testing
import ToolSupport

@testable import QueryReplayCommand

/// The table of commands, and what is made from it.
struct ReplayToolTests {
  private let tool = ReplayTool.stock.tool

  @Test func everyCommandHasAHelpWithAllOfItsOptionsAndAnExample() async throws {
    for (path, command) in self.tool.commands {
      let run = try await ToolRun(path + ["--help"])
      #expect(run.end == .code(0))
      let text = run.lines.joined(separator: "\n")
      for option in self.tool.options(of: command) where !option.isHidden {
        #expect(text.contains(option.dashed), "\(path) \(option.dashed)")
      }
      #expect(text.contains("Example"))
      #expect(run.lines.allSatisfy { $0.count <= 80 || $0.hasPrefix("  \(self.tool.name)") })
    }
  }

  @Test func everyExampleIsACommandLineThatIsUnderstood() throws {
    for (_, command) in self.tool.commands {
      for example in command.examples {
        let words = example.split(separator: " ").dropFirst().map(String.init)
        guard case .command = try CommandLineParser.parse(words, for: self.tool) else {
          Issue.record("\(example) is no command")
          continue
        }
      }
    }
  }

  @Test func theManualHasEveryCommandOptionAndExitCode() async throws {
    let run = try await ToolRun(["--generate-man"])
    #expect(run.end == .code(0))
    let text = run.lines.joined(separator: "\n").replacingOccurrences(of: "\\-", with: "-")
    for (path, command) in self.tool.commands {
      #expect(
        text.contains(([self.tool.name] + path).joined(separator: " ")) || !command.isRunnable)
      for option in self.tool.options(of: command) where !option.isHidden {
        #expect(text.contains(".B -\(option.short.map { "\($0), -" } ?? "")-\(option.name)"))
      }
    }
    for meaning in self.tool.exitCodes { #expect(text.contains(".B \(meaning.code.rawValue)\n")) }
  }

  @Test(.enabled(if: ChildProcess.system("bash") != nil, "there is no bash"))
  func theCompletionOffersEveryCommandAndOption() async throws {
    let script = try await ToolRun(["--generate-completion", "bash"])
    #expect(script.end == .code(0))
    for (path, command) in self.tool.commands {
      let options = self.tool.options(of: command).filter { !$0.isHidden }
      let offered = try await self.complete([self.tool.name] + path + ["--"], script.lines)
      #expect(Set(offered) == Set(options.map(\.dashed)))
    }
    let commands = try await self.complete([self.tool.name, ""], script.lines)
    #expect(commands == self.tool.root.subcommands.map(\.name))
  }

  private func complete(_ words: [String], _ script: [String]) async throws -> [String] {
    let bash = try #require(ChildProcess.system("bash"))
    let quoted = words.map { "'\($0)'" }.joined(separator: " ")
    let text = """
      set -u
      \(script.joined(separator: "\n"))
      COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1)
      _mutation_replay; printf '%s\\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
      """
    let child = try ChildProcess(bash, ["--norc", "--noprofile", "-c", text])
    var lines = [String]()
    for await line in child.lines where !line.isEmpty { lines.append(line) }
    #expect(await child.end() == .code(0))
    return lines
  }

  @Test func aWrongCommandLineEndsWith64AndOneLine() async throws {
    let lines: [(words: [String], line: String)] = [
      (
        ["run", "--oncee"],
        "mutation-replay: unknown option --oncee; did you mean --once? "
          + "See mutation-replay run --help"
      ),
      (
        ["statsu"],
        "mutation-replay: unknown command “statsu”; did you mean status? "
          + "See mutation-replay --help"
      ),
      (
        ["status"],
        "mutation-replay: name the store: --store DIR or --application ID. "
          + "See mutation-replay status --help"
      ),
    ]
    for (words, line) in lines {
      let run = try await ToolRun(words)
      #expect(run.end == .code(64))
      #expect(run.errors == [line])
      #expect(run.lines == [])
    }
  }

  @Test func anApplicationsOwnToolHasItsNameAndNeedsNoStore() {
    let tool = ReplayTool(name: "notes-replay", applicationID: "org.example.notes").tool
    #expect(tool.root.examples == ["notes-replay run --once"])
    let options = tool.commands.flatMap { $0.command.options }
    #expect(!options.contains(RunOption.credentials))
  }
}
