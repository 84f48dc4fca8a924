import FoundationEssentials

/// A mutation that ended, as an ``OutboxTable`` keeps it in its history.
struct EndedMutation: Sendable {
  /// The record that a store reads.
  var record: RecordedMutation
  /// How it ended.
  var outcome: RecordedMutation.Outcome
  /// When it ended, by the wall clock.
  var endedAt: Date
  /// Its place in the order of ending.
  var sequence: Int

  /// The name that it was persisted as.
  var name: String { self.record.entry.name }
  /// What the request itself held.
  var instance: String { self.record.entry.instance }
  /// The lane; nil: one of its own.
  var lane: String? { self.record.entry.lane }

  /// How many bytes of arguments, result and error it has.
  var byteCount: Int {
    let error = self.record.error.map { $0.typeName.utf8.count + $0.text.utf8.count } ?? 0
    return self.record.arguments.count + (self.record.result?.count ?? 0) + error
  }

  /// Whether it belongs to this kind of mutation.
  func isOf(_ name: String, _ instance: String) -> Bool {
    self.name == name && self.instance == instance
  }
}

/// What a mutation has published.
struct OutboxAlias: Sendable {
  /// What the server calls it.
  var value: String
  /// When it was published, by the wall clock.
  var publishedAt: Date
  /// The outbox's newest number at that time: rows up to it may resolve the alias.
  var newestNumber: Int
}

/// The effects of a transition, once it is committed.
struct OutboxEffects: Sendable {
  /// What to tell subscribers.
  var events = [OutboxEvent]()
  /// The leases that ended without being settled, and why.
  var revocations = [(lease: MutationLease, reason: MutationLease.Revocation)]()
  /// The queries with values that lack an edit which the history has forgotten.
  var missedPaths = Set<EditedPaths>()
  /// The edits that the history has forgotten, each with the sequence of the last of its mutations.
  var forgottenEdits = [EditedPaths: Int64]()
  /// The files that no row names any more.
  var bodyFiles = [String]()
}
