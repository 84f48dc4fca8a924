package import FoundationEssentials
package import Query

/// A live or dead mutation as JSON: the same object in every tool, so that scripts can join what
/// two of them print. Identifiers are lower case; what a mutation or a tool does not have is left out.
package struct MutationJSON: Encodable {
  private let facts: Facts
  /// What only a live or dead one has.
  package var details: Details

  /// - Parameters:
  ///   - entry: The mutation.
  ///   - partition: The account.
  package init(_ entry: OutboxEntry, partition: String) {
    self.facts = Facts(
      entry, partition: partition, createdAt: DateText.exact(entry.createdAt))
    self.details = Details(entry)
  }

  /// Encodes one flat object.
  package func encode(to encoder: any Encoder) throws {
    try self.facts.encode(to: encoder)
    try self.details.encode(to: encoder)
  }

  /// What a mutation has as long as it is known, live, dead or ended.
  package struct Facts: Encodable {
    package let partition: String
    package let id: String
    package let number: Int
    package let name: String
    package let instance: String
    package let version: Int
    package let lane: String?
    package let attempts: Int
    package let maybeApplied: Bool
    package let createdAt: String

    /// - Parameters:
    ///   - entry: The mutation.
    ///   - partition: The account.
    ///   - createdAt: When it was enqueued.
    package init(_ entry: OutboxEntry, partition: String, createdAt: String) {
      self.partition = partition
      self.id = MutationJSON.text(entry.id)
      self.number = entry.number
      self.name = entry.name
      self.instance = entry.instance
      self.version = entry.version
      self.lane = entry.lane
      self.attempts = entry.attempts
      self.maybeApplied = entry.maybeApplied
      self.createdAt = createdAt
    }
  }

  /// What a live or dead mutation has beside its ``Facts``.
  package struct Details: Encodable {
    package let host: String?
    package let state: String
    package let waitReason: String?
    package let deadReason: String?
    package let failures: Int
    /// nil: it is neither urgent nor the opposite.
    package let priority: Int?
    package let maxAttempts: Int?
    package let maxAgeMicroseconds: Int64?
    package let onFailure: String
    package let idempotencyKey: String
    package let nextAttemptAt: String?
    package let lastErrorType: String?
    package let lastErrorText: String?
    package let byteCount: Int
    package let coder: String

    /// Whether the tool is able to send it; nil if the tool sends nothing.
    package var canSend: Bool?

    // What only an inspector of the file knows.
    package var coalesce: String?
    package var lastFailure: String?
    package var failedAt: String?
    package var leaseOwner: String?
    package var isCancelRequested: Bool?
    package var awaitedAlias: String?
    package var bodyFile: String?
    package var isSound: Bool?

    fileprivate init(_ entry: OutboxEntry) {
      self.host = entry.host
      self.state = entry.state.rawValue
      self.waitReason = entry.waitReason?.rawValue
      self.deadReason = entry.deadReason?.rawValue
      self.failures = entry.failures
      self.priority = entry.priority == .normal ? nil : entry.priority.rawValue
      self.maxAttempts = entry.maxAttempts
      self.maxAgeMicroseconds = entry.maxAge.map { MutationJSON.microseconds($0) }
      self.onFailure = entry.onFailure.rawValue
      self.idempotencyKey = entry.idempotencyKey
      self.nextAttemptAt = entry.nextAttemptAt.map { DateText.exact($0) }
      self.lastErrorType = entry.lastError?.typeName
      self.lastErrorText = entry.lastError?.text
      self.byteCount = entry.arguments.count
      self.coder = entry.coder
    }
  }

  /// An identifier as all tools print it.
  package static func text(_ id: UUID) -> String { id.uuidString.lowercased() }

  private static func microseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let (whole, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000)
    return isOver
      ? .max : whole.addingReportingOverflow(attoseconds / 1_000_000_000_000).partialValue
  }
}
