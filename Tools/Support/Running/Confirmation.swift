import FoundationEssentials
import Glibc

/// Asks before something is changed that cannot be undone.
package enum Confirmation {
  /// Asks the user, on the terminal, whether to go on.
  ///
  /// - Throws: `UsageError` if there is no terminal and `--yes` is not given; `ToolError` (success)
  ///   if the answer is no.
  package static func require(_ question: String, _ invocation: Invocation) throws {
    if invocation.command.has(CommonOption.yes) { return }
    guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
      throw invocation.command.usageError("there is no terminal to ask on: give --yes")
    }
    Output.ask(question)
    let answer = readLine()?.lowercased() ?? ""
    if !["y", "yes"].contains(answer) { throw ExitCode.success }
  }
}
