import Foundation
package import Query

extension OutboxRow {
  /// The row as it is shown.
  package func entry(_ view: OutboxView) -> OutboxEntry {
    var entry = self.enqueued
    entry.show(
      self.standing, isHead: self.isHead, hasDependencies: self.hasDependencies, in: view)
    return entry
  }

  /// The entry as the history keeps it.
  var ended: OutboxEntry {
    var entry = self.enqueued.kept
    entry.attempts = self.standing.attempts
    entry.maybeApplied = self.standing.maybeApplied
    entry.lastError = self.standing.lastError
    return entry
  }

  /// Whether only other rows keep it from running.
  func isReady(_ now: OutboxTime) -> Bool {
    self.standing.isReady(hasDependencies: self.hasDependencies, at: now)
  }
}
