import Foundation
import TestSupport
import Testing
import ToolSupport

/// What bash offers with the script that is generated.
struct BashCompletionTests {
  @Test(
    .enabled(if: ChildProcess.system("bash") != nil, "there is no bash"),
    arguments: [
      ("sample ", ["list", "report", "outbox", "ping", "history"]),
      ("sample l", ["list"]),
      ("sample outbox ", ["show", "retry"]),
      ("sample --store list outbox ", ["show", "retry"]),
      ("sample --store = list ou", ["outbox"]),
      ("sample list --so", ["--sort"]),
      ("sample list --sort ", ["size", "age"]),
      ("sample list --sort = ", ["size", "age"]),
      ("sample list --sort = a", ["age"]),
      ("sample list -n ", []),
      ("sample outbox retry --a", ["--application", "--all"]),
      ("sample history ", []),
    ])
  func theShellOffersWhatFits(_ line: String, _ words: [String]) async throws {
    let offered = try await Self.complete(line)
    #expect(Set(offered) == Set(words), "\(line)")
  }

  @Test(.enabled(if: ChildProcess.system("bash") != nil, "there is no bash"))
  func everyOptionOfEveryCommandIsOffered() async throws {
    for (path, command) in SampleTool.tool.commands {
      let line = (["sample"] + path + ["--"]).joined(separator: " ")
      let options = SampleTool.tool.options(of: command).filter { !$0.isHidden }
      #expect(try await Set(Self.complete(line)) == Set(options.map(\.dashed)))
    }
  }

  @Test(.enabled(if: ChildProcess.system("bash") != nil, "there is no bash"))
  func foldersAreOfferedWhereOneIsMeant() async throws {
    #expect(try await Self.complete("sample --store /us").contains("/usr"))
    #expect(try await Self.complete("sample --store = /us").contains("/usr"))
  }

  /// What is offered for the last word of a line, in which words stand as bash divides it.
  private static func complete(_ line: String) async throws -> [String] {
    let bash = try #require(ChildProcess.system("bash"))
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map { "'\($0)'" }
    let script = """
      set -u
      \(BashCompletion.text(of: SampleTool.tool))
      COMP_WORDS=(\(words.joined(separator: " "))); COMP_CWORD=\(words.count - 1)
      _sample; printf '%s\\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
      """
    let child = try ChildProcess(bash, ["--norc", "--noprofile", "-c", script])
    var lines = [String]()
    for await line in child.lines where !line.isEmpty { lines.append(line) }
    #expect(await child.end() == .code(0))
    return lines
  }
}
