import Foundation
import Query
import ToolSupport

extension OutboxEntry {
  /// Its whole identifier: those of one minute begin alike.
  var idText: String { MutationJSON.text(self.id) }

  /// What it waits for, or why it is dead; empty if it is due or runs.
  var reason: String { self.deadReason?.rawValue ?? self.waitReason?.rawValue ?? "" }
}
