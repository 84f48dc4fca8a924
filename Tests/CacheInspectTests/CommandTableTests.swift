import Foundation
import Testing
import ToolSupport

@testable import cache_inspect

/// The tools: help, completion and manual are made of the table that is parsed by, and leave nothing out.
@Suite struct CommandTableTests {
  private static let tool = CommandTable.tool

  @Test func eachCommandHasHelpWithItsOptionsAndAnExample() throws {
    for (path, command) in Self.tool.commands {
      let help = try #require(HelpText.text(of: path, in: Self.tool))
      let shown = (command.options + Self.tool.common).filter { !$0.isHidden }
      for option in shown { #expect(help.contains(option.dashed), "\(path) \(option.name)") }
      for argument in command.arguments { #expect(help.contains(argument.placeholder)) }
      #expect(!command.examples.isEmpty)
      for example in command.examples { #expect(help.contains(example), "\(path)") }
    }
  }

  @Test func eachExampleIsUnderstood() throws {
    for (path, command) in Self.tool.commands {
      for example in command.examples {
        let words = Self.words(example)
        #expect(words.first == "cache-inspect")
        guard
          case .command(let parsed) = try CommandLineParser.parse(
            Array(words.dropFirst()), for: Self.tool)
        else {
          Issue.record("\(example)")
          continue
        }
        #expect(parsed.path.starts(with: path), "\(example)")
      }
    }
  }

  /// The words of a line as a shell has them, with quotes around some.
  private static func words(_ line: String) -> [String] {
    var words = [""]
    var isQuoted = false
    for character in line {
      switch character {
      case "'": isQuoted.toggle()
      case " " where !isQuoted: words.append("")
      default: words[words.count - 1].append(character)
      }
    }
    return words
  }

  @Test func completionAndManualNameEachOptionAndCommand() {
    let completion = BashCompletion.text(of: Self.tool)
    let manual = ManPage.text(of: Self.tool).replacing("\\-", with: "-")
    for (path, command) in Self.tool.commands {
      for option in command.options + Self.tool.common where !option.isHidden {
        #expect(completion.contains(option.dashed), "\(path) \(option.name)")
        #expect(manual.contains(option.dashed), "\(path) \(option.name)")
      }
      if let name = path.last {
        #expect(completion.contains(name))
        #expect(manual.contains(path.joined(separator: " ")))
      }
    }
    for meaning in Self.tool.exitCodes { #expect(manual.contains(".B \(meaning.code.rawValue)")) }
  }

  @Test func theBuiltToolPrintsThem() async throws {
    let completion = try await InspectorRun(["--generate-completion", "bash"])
    #expect(completion.code == 0 && completion.text == BashCompletion.text(of: Self.tool))
    let manual = try await InspectorRun(["--generate-man"])
    #expect(manual.code == 0 && manual.text == ManPage.text(of: Self.tool))
    for (path, _) in Self.tool.commands {
      let help = try await InspectorRun(path + ["--help"])
      #expect(help.code == 0 && help.text == HelpText.text(of: path, in: Self.tool))
    }
  }

  @Test func theCompletionIsAScriptOfBash() async throws {
    let store = try SampleStore(isEmpty: true)
    let shell = try await Shell.run(
      """
      source <("$TOOL" --generate-completion bash)
      COMP_WORDS=(cache-inspect li) COMP_CWORD=1; _cache_inspect; echo "${COMPREPLY[@]}"
      COMP_WORDS=(cache-inspect list --so) COMP_CWORD=2; _cache_inspect; echo "${COMPREPLY[@]}"
      COMP_WORDS=(cache-inspect list --sort s) COMP_CWORD=3; _cache_inspect; echo "${COMPREPLY[@]}"
      COMP_WORDS=(cache-inspect outbox w) COMP_CWORD=2; _cache_inspect; echo "${COMPREPLY[@]}"
      """, store)
    #expect(shell.code == 0)
    #expect(shell.text == "list\n--sort\nsize\nwhy")
  }
}
