import Query
import ToolSupport

/// `pause` and `resume`.
struct PauseCommand {
  let session: ReplaySession

  /// - Parameter session: The store.
  init(_ session: ReplaySession) { self.session = session }

  private struct Row: Encodable {
    var isPaused: Bool
    var lane: String?
    var name: String?
    var host: String?
  }

  /// Does it, and says so.
  ///
  /// - Throws: `UsageError`; `StorageError`; what printing throws.
  func run() async throws -> ExitCode {
    let invocation = self.session.invocation
    let isPause = invocation.command.path == ["pause"]
    let pauses = self.pauses
    if pauses.count > 1 {
      throw invocation.command.usageError("one of --lane, --name and --host at a time")
    }
    let pause = pauses.first ?? .everything
    if isPause {
      try await self.session.outbox.pause(pause)
    } else {
      try await self.session.outbox.resume(pause)
    }
    if let json = invocation.json {
      let command = invocation.command
      try json.print(
        Row(
          isPaused: isPause, lane: command.text(PauseOption.lane),
          name: command.text(PauseOption.name), host: command.text(PauseOption.host)),
        to: invocation.output)
    } else {
      try invocation.output.line(Self.words(pause, isPause))
    }
    return .success
  }

  private var pauses: [OutboxPause] {
    let command = self.session.invocation.command
    return [
      command.text(PauseOption.lane).map { .lane($0) },
      command.text(PauseOption.name).map { .name($0) },
      command.text(PauseOption.host).map { .host($0) },
    ].compactMap(\.self)
  }

  private static func words(_ pause: OutboxPause, _ isPause: Bool) -> String {
    switch (pause, isPause) {
    case (.everything, true): "Nothing is sent any more, until it is resumed."
    case (.everything, false): "Nothing is paused as a whole: what is due is sent."
    case (_, true): "\(SafeText.escape("\(pause)")) is paused, until it is resumed."
    case (_, false): "\(SafeText.escape("\(pause)")) is not paused."
    }
  }
}
