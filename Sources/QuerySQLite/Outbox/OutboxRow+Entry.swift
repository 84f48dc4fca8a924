import Foundation
package import Query

extension OutboxRow {
  /// The row as it is shown.
  package func entry(_ view: OutboxView) -> OutboxEntry {
    var entry = OutboxEntry(
      id: self.id, number: Int(self.number), name: self.name, instance: self.instance,
      version: self.version, lane: self.lane, host: self.host, onFailure: self.onFailure,
      maxAttempts: self.maxAttempts, maxAge: self.maxAge.map { .microseconds($0) },
      idempotencyKey: self.idempotencyKey,
      createdAt: Date(microsecondsSince1970: self.createdAt), coder: self.coder,
      arguments: self.arguments)
    entry.show(
      self.standing, isHead: self.isHead, hasDependencies: self.hasDependencies, in: view)
    return entry
  }

  /// Whether only other rows keep it from running.
  func isReady(_ now: OutboxTime) -> Bool {
    self.standing.isReady(hasDependencies: self.hasDependencies, at: now)
  }
}
