import Foundation
import Query
import ToolSupport

extension OutboxEntry {
  /// The prefix of its identifier that users type.
  var shortID: String { String(MutationJSON.text(self.id).prefix(8)) }

  /// What it waits for, or why it is dead; empty if it is due or runs.
  var reason: String { self.deadReason?.rawValue ?? self.waitReason?.rawValue ?? "" }
}
