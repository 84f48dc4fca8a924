import Foundation
package import Query

/// The state outside a row that determines how it is shown.
package struct OutboxView {
  /// When the partition was paused.
  var isPaused: Bool
  /// The handlers that this process last claimed for; nil if it never has.
  var handlers: Set<MutationHandler>?
  var now: OutboxTime
}

extension OutboxRow {
  /// The row as it is shown.
  package func entry(_ view: OutboxView) -> OutboxEntry {
    var entry = self.enqueued
    entry.state = self.standing.state
    entry.deadReason = self.standing.deadReason
    entry.attempts = self.standing.attempts
    entry.failures = self.standing.failures
    entry.maybeApplied = self.standing.maybeApplied
    entry.lastError = self.standing.lastError
    if let remaining = self.remaining(view.now), remaining > 0 {
      entry.nextAttemptAt = view.now.wall + Double(remaining) / 1e6
    }
    entry.waitReason = self.waitReason(view, entry)
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

  /// How many microseconds it still waits; nil if it does not wait for a time.
  func remaining(_ now: OutboxTime) -> Int64? {
    self.standing.state == .pending ? self.standing.wait?.remaining(now) : nil
  }

  /// The first reason that keeps it from running.
  private func waitReason(_ view: OutboxView, _ entry: OutboxEntry) -> MutationWaitReason? {
    guard self.standing.state == .pending else { return nil }
    if view.isPaused { return .paused }
    if !self.isHead { return .predecessor }
    if self.hasDependencies || self.standing.awaitedAlias != nil { return .dependency }
    if self.standing.waitReason == .authentication { return .authentication }
    if self.standing.waitReason == .offline || (self.remaining(view.now) ?? 0) > 0 {
      return self.standing.waitReason ?? .backoff
    }
    if let handlers = view.handlers, !handlers.contains(where: { $0.canRun(entry) }) {
      return .handler
    }
    return nil
  }

  /// Whether only other rows keep it from running: it is pending, due, and waits for no dependency,
  /// alias or credentials.
  func isReady(_ now: OutboxTime) -> Bool {
    self.standing.state == .pending && !self.hasDependencies && self.standing.awaitedAlias == nil
      && self.standing.waitReason != .authentication && (self.remaining(now) ?? 0) == 0
  }

  /// The row as a store restores it.
  func record(_ view: OutboxView) -> RecordedMutation {
    RecordedMutation(
      self.entry(view),
      failedAt: self.standing.failedAt.map { Date(microsecondsSince1970: $0) })
  }
}
