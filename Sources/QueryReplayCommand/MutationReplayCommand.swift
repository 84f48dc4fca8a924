import Foundation
public import QueryReplay
import ToolSupport

/// The commands of `mutation-replay`, for an application's own tool: it sends what the application
/// could not send, without its windows.
///
/// ```swift
/// @main struct NotesReplay {
///   static func main() async {
///     await MutationReplayCommand.main(applicationID: "org.example.notes") { replayer in
///       try replayer.register(CreateNote().persisted(as: "create-note"))
///     }
///   }
/// }
/// ```
/// Declare its mutations as the application does: a row is sent only by the same name, path and
/// version. Other rows stay where they are.
public enum MutationReplayCommand {
  /// Runs the command that the command line of the process says, and ends the process.
  ///
  /// - Parameters:
  ///   - applicationID: The application whose store is used if the command line names none; nil:
  ///     the command line must.
  ///   - registering: Registers what can be sent.
  public static func main(
    applicationID: String? = nil,
    registering: (MutationReplayer) throws -> Void
  ) async -> Never {
    let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
    let tool = ReplayTool(name: name ?? "mutation-replay", applicationID: applicationID)
    let code = await tool.run { replayer, _ in
      try registering(replayer)
      return nil
    }
    exit(code.rawValue)
  }

  /// The stock tool, which sends requests of `HTTPMutation` with credentials from a file.
  package static func stockMain() async -> Never {
    exit(await ReplayTool.stock.run(registering: ReplayTool.registerHTTP).rawValue)
  }
}
