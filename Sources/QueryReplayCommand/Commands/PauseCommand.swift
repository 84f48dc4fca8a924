import Query
import ToolSupport

/// `pause` and `resume`.
struct PauseCommand {
  let session: ReplaySession

  /// - Parameter session: The store.
  init(_ session: ReplaySession) { self.session = session }

  private struct Row: Encodable { var isPaused: Bool }

  /// Does it, and says so.
  ///
  /// - Throws: `StorageError`; what printing throws.
  func run() async throws -> ExitCode {
    let invocation = self.session.invocation
    let isPause = invocation.command.path == ["pause"]
    if isPause {
      try await self.session.outbox.pause()
    } else {
      try await self.session.outbox.resume()
    }
    if let json = invocation.json {
      try json.print(Row(isPaused: isPause), to: invocation.output)
    } else {
      try invocation.output.line(
        isPause
          ? "Nothing is sent any more, until it is resumed." : "What is due is sent again.")
    }
    return .success
  }
}
