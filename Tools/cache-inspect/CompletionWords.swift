import Query
import QueryInspection
import ToolSupport

/// What the completion script asks for: names that a person would type next.
struct CompletionWords {
  /// More are no help to anybody.
  private static let maximum = 1_000

  private let invocation: Invocation

  init(_ invocation: Invocation) { self.invocation = invocation }

  /// Prints them, one a line.
  func print(_ kind: String) throws -> ExitCode {
    if kind == "applications" {
      for name in StoreInspection.applications() { try self.invocation.output.line(name) }
      return .success
    }
    let store = try self.invocation.inspection()
    if self.invocation.command.path.first == "outbox" {
      var left = Self.maximum
      try store.mutations(in: self.invocation.partition) { mutation in
        if left > 0 { try self.invocation.output.line(MutationJSON.text(mutation.entry.id)) }
        left -= 1
      }
    } else {
      let query = EntryQuery(partition: self.invocation.partition, sort: .used, limit: Self.maximum)
      try store.entries(query) { try self.invocation.output.line($0.hash.short) }
    }
    return .success
  }
}
