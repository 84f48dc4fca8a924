import FoundationEssentials
import Glibc

/// The frame of a tool: from the command line to the exit code.
package enum ToolMain {
  /// Reads the command line, runs the command, and prints why it failed, in one line.
  ///
  /// - Parameters:
  ///   - tool: The tool's commands and options.
  ///   - arguments: What follows the name of the program.
  ///   - explaining: What an error of the command means; nil if it does not know either. It is not
  ///     called for a ``ToolError``, a ``UsageError`` or a closed pipe.
  ///   - body: Runs the command, and says how it ended. Its output is written after it returns.
  /// - Returns: The exit code of the process.
  package static func run(
    _ tool: Tool,
    arguments: [String] = Array(CommandLine.arguments.dropFirst()),
    explaining: (any Error) -> ToolError? = { _ in nil },
    body: (Invocation) async throws -> ExitCode
  ) async -> ExitCode {
    // A closed pipe is an error of the writing call then.
    signal(SIGPIPE, SIG_IGN)
    let output = Output()
    do {
      let code = try await Self.run(tool, arguments, output, body)
      try output.flush()
      return code
    } catch is Output.ClosedPipe {
      return .success
    } catch {
      // What it has found until then.
      try? output.flush()
      return Self.report(error, of: tool, explaining)
    }
  }

  private static func run(
    _ tool: Tool,
    _ arguments: [String],
    _ output: Output,
    _ body: (Invocation) async throws -> ExitCode
  ) async throws -> ExitCode {
    switch try CommandLineParser.parse(arguments, for: tool) {
    case .command(let command): return try await body(Invocation(command, output: output))
    case .help(let path): try output.line(HelpText.text(of: path, in: tool) ?? "")
    case .version: try output.line("\(tool.name) \(tool.version)")
    case .completion: try output.line(BashCompletion.text(of: tool))
    case .manual: try output.line(ManPage.text(of: tool))
    }
    return .success
  }

  private static func report(
    _ error: any Error, of tool: Tool, _ explaining: (any Error) -> ToolError?
  ) -> ExitCode {
    switch error {
    case let error as UsageError:
      Output.error("\(tool.name): \(error.line(of: tool.name))")
      return .usage
    case let error as ToolError:
      Output.error("\(tool.name): \(error.message)")
      return error.code
    case let error as ExitCode: return error
    default:
      let known = explaining(error) ?? ToolError(.inputOutput, "\(error)")
      Output.error("\(tool.name): \(known.message)")
      return known.code
    }
  }
}
