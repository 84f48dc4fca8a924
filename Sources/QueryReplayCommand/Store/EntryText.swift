import Foundation
import Query
import ToolSupport

extension OutboxEntry {
  /// The prefix of its identifier that users type.
  var shortID: String { String(self.id.uuidString.lowercased().prefix(8)) }

  /// What it waits for, or why it is dead; empty if it is due or runs.
  var reason: String { self.deadReason?.rawValue ?? self.waitReason?.rawValue ?? "" }
}

/// A mutation as JSON.
struct EntryRow: Encodable {
  var id: String
  var number: Int
  var name: String
  var version: Int
  var lane: String?
  var host: String
  var state: String
  var waitReason: String?
  var deadReason: String?
  var attempts: Int
  var failures: Int
  var maybeApplied: Bool
  var idempotencyKey: String
  var createdAt: Date
  var nextAttemptAt: Date?
  var lastError: String?
  var canSend: Bool

  /// - Parameters:
  ///   - entry: The mutation.
  ///   - canSend: Whether this program is able to send it.
  init(_ entry: OutboxEntry, canSend: Bool) {
    self.id = entry.id.uuidString.lowercased()
    self.number = entry.number
    self.name = entry.name
    self.version = entry.version
    self.lane = entry.lane
    self.host = entry.effectiveHost
    self.state = entry.state.rawValue
    self.waitReason = entry.waitReason?.rawValue
    self.deadReason = entry.deadReason?.rawValue
    self.attempts = entry.attempts
    self.failures = entry.failures
    self.maybeApplied = entry.maybeApplied
    self.idempotencyKey = entry.idempotencyKey
    self.createdAt = entry.createdAt
    self.nextAttemptAt = entry.nextAttemptAt
    self.lastError = entry.lastError?.text
    self.canSend = canSend
  }
}
