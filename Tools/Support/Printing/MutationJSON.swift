package import Foundation
package import Query

/// A live or dead mutation as JSON: the same object in every tool, so that scripts can join what
/// two of them print. Identifiers are lower case; what a mutation or a tool does not have is left out.
package struct MutationJSON: Encodable {
  package let partition: String
  package let id: String
  package let number: Int
  package let name: String
  package let instance: String
  package let version: Int
  package let lane: String?
  package let host: String?
  package let state: String
  package let waitReason: String?
  package let deadReason: String?
  package let attempts: Int
  package let failures: Int
  package let maxAttempts: Int?
  package let maxAgeMicroseconds: Int64?
  package let onFailure: String
  package let maybeApplied: Bool
  package let idempotencyKey: String
  package let createdAt: String
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

  /// - Parameters:
  ///   - entry: The mutation.
  ///   - partition: The account.
  package init(_ entry: OutboxEntry, partition: String) {
    self.partition = partition
    self.id = Self.text(entry.id)
    self.number = entry.number
    self.name = entry.name
    self.instance = entry.instance
    self.version = entry.version
    self.lane = entry.lane
    self.host = entry.host
    self.state = entry.state.rawValue
    self.waitReason = entry.waitReason?.rawValue
    self.deadReason = entry.deadReason?.rawValue
    self.attempts = entry.attempts
    self.failures = entry.failures
    self.maxAttempts = entry.maxAttempts
    self.maxAgeMicroseconds = entry.maxAge.map { Self.microseconds($0) }
    self.onFailure = entry.onFailure.rawValue
    self.maybeApplied = entry.maybeApplied
    self.idempotencyKey = entry.idempotencyKey
    self.createdAt = DateText.exact(entry.createdAt)
    self.nextAttemptAt = entry.nextAttemptAt.map { DateText.exact($0) }
    self.lastErrorType = entry.lastError?.typeName
    self.lastErrorText = entry.lastError?.text
    self.byteCount = entry.arguments.count
    self.coder = entry.coder
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
