import Query
import QueryReplay
import QuerySQLite
import ToolSupport

/// A tool that replays: its table of commands, and what they do.
struct ReplayTool {
  /// The commands and options.
  let tool: Tool
  private let applicationID: String?

  /// The tool that comes with the library.
  static let stock = ReplayTool(
    name: "mutation-replay", applicationID: nil, hasCredentials: true)

  /// - Parameters:
  ///   - name: The name of the program.
  ///   - applicationID: The application whose store is used if the command line names none.
  ///   - hasCredentials: Whether it has an option for a file with credentials.
  init(name: String, applicationID: String?, hasCredentials: Bool = false) {
    self.tool = Self.table(named: name, applicationID, hasCredentials: hasCredentials)
    self.applicationID = applicationID
  }

  /// Registers what has come since, if what can be sent goes by the mutations that are there.
  typealias LaterRegistration = @Sendable () throws -> Void

  /// Runs the command that a command line says.
  ///
  /// - Parameter registering: Registers what can be sent, and returns what does so for later mutations; nil:
  ///   that is all.
  /// - Returns: The exit code of the process.
  func run(
    registering: (MutationReplayer, ParsedCommand) throws -> LaterRegistration?
  ) async -> ExitCode {
    await ToolMain.run(self.tool, explaining: Explanation.of) { invocation in
      if invocation.command.text(CommonOption.complete) == "applications" {
        for name in StorageLocations.applications() { try invocation.output.line(name) }
        return .success
      }
      if invocation.command.path == ["check-server"] {
        return try await CheckServerCommand(invocation: invocation).run()
      }
      let session = try ReplaySession(invocation, applicationID: self.applicationID)
      do {
        let later = try registering(session.replayer, invocation.command)
        let code = try await self.run(session, later)
        try invocation.output.flush()
        await session.close()
        return code
      } catch {
        // A lease would end with the process, so nothing waits for it.
        await session.close()
        throw error
      }
    }
  }

  private func run(
    _ session: ReplaySession, _ later: LaterRegistration?
  ) async throws -> ExitCode {
    let words = session.invocation.command.path
    if session.invocation.command.has(CommonOption.complete) {
      for entry in try session.outbox.entries() {
        try session.invocation.output.line(MutationJSON.text(entry.id))
      }
      return .success
    }
    try session.tellOfOtherAccounts(in: self.tool.name)
    switch words.first {
    case "run":
      if session.invocation.command.has(RunOption.dryRun) {
        return try DryRun(session).run()
      }
      return try await RunCommand(session, registeringLater: later).run()
    case "status": return try StatusCommand(session).run()
    case "dead": return try DeadCommand(session).run()
    case "list": return try ListCommand(session).run()
    case "why": return try WhyCommand(session).run()
    case "pause", "resume": return try await PauseCommand(session).run()
    case "retry", "discard", "cancel": return try await ChangeCommand(session).run()
    default: throw UsageError("there is no command “\(words.joined(separator: " "))”")
    }
  }
}
