import FoundationEssentials

extension ReportData {
  /// All entries of one kind.
  struct Kind: Encodable, Sendable {
    /// `query`, `infinite`, or that of an own paradigm.
    var name: String
    /// How many there are.
    var count: Int
    /// What they take, in bytes.
    var bytes: Int
  }

  /// One entry of the cache.
  struct Entry: Encodable, Sendable {
    /// The canonical text of the query's path.
    var identity: String
    /// The first hexadecimal digits of the identity's hash.
    var hash: String
    /// The partition that it is in.
    var partition: String
    /// `query`, `infinite`, or that of an own paradigm.
    var kind: String
    /// What it takes with its pages, in bytes.
    var bytes: Int
    /// When its value came; nil: it never had one.
    var storedAt: ReportDate?
    /// What `cache-inspect list` says of it: `fresh`, `stale`, `invalidated`, `error`.
    var freshness: String
    /// How often a value was stored.
    var updates: Int
    /// How many mutations are laid over the value, since it does not have them.
    var pending = 0
  }

  /// A live or dead mutation.
  struct OutboxRow: Encodable, Sendable {
    /// Its place in the order of enqueueing.
    var number: Int
    /// The mutation's identifier.
    var id: String
    /// The name that it was persisted as.
    var name: String
    /// The partition that it is in.
    var partition: String
    /// The lane; nil: one of its own.
    var lane: String?
    /// `pending`, `leased` or `dead`.
    var state: String
    /// What it waits for, or why it is dead; nil if neither.
    var reason: String?
    /// How many attempts were begun.
    var attempts: Int
    /// When it was enqueued.
    var createdAt: ReportDate
    /// When it may run again; nil: at once, or never if it is dead.
    var nextAttemptAt: ReportDate?
    /// The error of the last attempt, type and text; nil if no attempt failed.
    var lastError: String?
  }

  /// A mutation that ended.
  struct HistoryRow: Encodable, Sendable {
    /// Its number in the outbox.
    var number: Int
    /// The mutation's identifier.
    var id: String
    /// The name that it was persisted as.
    var name: String
    /// The partition that it was in.
    var partition: String
    /// `succeeded`, `cancelled`, `superseded` or `discarded`.
    var outcome: String
    /// How many attempts were begun.
    var attempts: Int
    /// When it ended.
    var endedAt: ReportDate
    /// From the beginning of the last attempt to the end, in seconds; nil: there was no attempt.
    var seconds: Double?
    /// Its error, type and text; nil if it did not fail.
    var error: String?
  }
}
