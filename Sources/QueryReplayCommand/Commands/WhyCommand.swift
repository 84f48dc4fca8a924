import Query
import ToolSupport

/// `why`: what a mutation waits for, or why it is dead.
struct WhyCommand {
  let session: ReplaySession

  /// - Parameter session: The store.
  init(_ session: ReplaySession) { self.session = session }

  private struct Row: Encodable {
    var id: String
    var why: String
  }

  /// Says it.
  ///
  /// - Throws: `UsageError`; `StorageError`; what printing throws.
  func run() throws -> ExitCode {
    let invocation = self.session.invocation
    for entry in try self.session.entries(named: invocation.command) {
      let sentence = try self.session.outbox.why(entry.id)
      if let json = invocation.json {
        try json.print(Row(id: entry.idText, why: sentence), to: invocation.output)
      } else {
        try invocation.output.line("\(entry.idText): \(SafeText.escape(sentence))")
      }
    }
    return .success
  }
}
