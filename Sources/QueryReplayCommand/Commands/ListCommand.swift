import Query
import ToolSupport

/// `list`: the mutations that wait or run.
struct ListCommand {
  let session: ReplaySession

  /// - Parameter session: The store.
  init(_ session: ReplaySession) { self.session = session }

  /// Prints them, in the order of enqueueing.
  ///
  /// - Throws: `StorageError`; what printing throws.
  func run() throws -> ExitCode {
    let invocation = self.session.invocation
    let lane = invocation.command.text(RunOption.lane)
    let entries = try self.session.outbox.entries().filter {
      $0.state != .dead && (lane == nil || $0.lane == lane)
    }
    if let json = invocation.json {
      for entry in entries { try json.print(self.session.json(entry), to: invocation.output) }
      return .success
    }
    if entries.isEmpty {
      try invocation.output.line("Nothing waits.")
      return .success
    }
    var table = Table([
      .init("ID"), .init("NAME", isFlexible: true), .init("LANE", isFlexible: true), .init("WHY"),
      .init("ATTEMPTS", .right), .init("NEXT TRY"), .init("CREATED"),
    ])
    for entry in entries {
      let next = entry.nextAttemptAt.map { Age.text(of: $0, at: invocation.now) } ?? "–"
      table.add([
        .init(entry.idText), .init(entry.name), .init(entry.lane ?? "–"), self.reason(of: entry),
        .init("\(entry.attempts)"), .init(next),
        .init(Age.text(of: entry.createdAt, at: invocation.now), .faint),
      ])
    }
    try table.print(to: invocation.output, invocation.terminal)
    return .success
  }

  private func reason(of entry: OutboxEntry) -> Table.Cell {
    if entry.state == .leased { return .init("runs", .good) }
    if !entry.reason.isEmpty { return .init(entry.reason, .warning) }
    return .init(self.session.canSend(entry) ? "due" : "other application")
  }
}
