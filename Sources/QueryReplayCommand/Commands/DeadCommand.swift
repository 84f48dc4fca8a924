import Query
import ToolSupport

/// `dead`: the dead mutations.
struct DeadCommand {
  let session: ReplaySession

  /// - Parameter session: The store.
  init(_ session: ReplaySession) { self.session = session }

  /// Prints them.
  ///
  /// - Throws: `StorageError`; what printing throws.
  func run() throws -> ExitCode {
    let invocation = self.session.invocation
    let entries = try self.session.outbox.entries(in: .dead)
    if let json = invocation.json {
      for entry in entries {
        try json.print(self.session.json(entry), to: invocation.output)
      }
      return .success
    }
    if entries.isEmpty {
      try invocation.output.line("Nothing is dead.")
      return .success
    }
    var table = Table([
      .init("ID"), .init("NAME", isFlexible: true), .init("LANE", isFlexible: true),
      .init("REASON"), .init("ATTEMPTS", .right), .init("CREATED"),
      .init("LAST ERROR", isFlexible: true),
    ])
    for entry in entries {
      table.add([
        .init(entry.idText), .init(entry.name), .init(entry.lane ?? "–"),
        .init(entry.reason, .bad), .init("\(entry.attempts)"),
        .init(Age.text(of: entry.createdAt, at: invocation.now), .faint),
        .init(entry.lastError?.text ?? "–"),
      ])
    }
    try table.print(to: invocation.output, invocation.terminal)
    return .success
  }
}
