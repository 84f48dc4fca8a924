import Foundation
import Query
import ToolSupport

/// `retry`, `discard` and `cancel`: a person's decision about single mutations.
struct ChangeCommand {
  let session: ReplaySession

  /// - Parameter session: The store.
  init(_ session: ReplaySession) { self.session = session }

  /// What was done with one.
  private struct Row: Encodable {
    var id: String
    var name: String
    var result: String
    var isOutOfOrder: Bool?
  }

  /// Applies the command to each named mutation, and reports it. Does nothing if one is not found.
  ///
  /// - Throws: `UsageError`; `OutboxError`; `StorageError`; what printing throws.
  func run() async throws -> ExitCode {
    let invocation = self.session.invocation
    let entries = try self.session.entries(named: invocation.command)
    if invocation.command.path.first == "discard" {
      let names = entries.map { "\($0.name) \($0.idText)" }.joined(separator: ", ")
      try Confirmation.require("Discard for good what it would write: \(names)?", invocation)
    }
    for entry in entries {
      let row = try await self.change(entry)
      if let json = invocation.json {
        try json.print(row, to: invocation.output)
      } else {
        let warning = row.isOutOfOrder == true ? "; it is out of order, later ones have run" : ""
        let name = SafeText.escape(row.name)
        try invocation.output.line("\(row.result) \(row.id) \(name)\(warning)")
      }
    }
    return .success
  }

  private func change(_ entry: OutboxEntry) async throws -> Row {
    let outbox = self.session.outbox
    var row = Row(id: MutationJSON.text(entry.id), name: entry.name, result: "")
    switch self.session.invocation.command.path.first {
    case "retry":
      let newKey = self.session.invocation.command.has(ReplayTool.newKey)
      row.isOutOfOrder = try await outbox.retry(entry.id, newKey: newKey)
      row.result = "retried"
    case "discard":
      try await outbox.discard(entry.id)
      row.result = "discarded"
    default:
      let hasEnded = try await outbox.cancel(entry.id)
      row.result = hasEnded ? "cancelled" : "asked to cancel"
    }
    return row
  }
}
