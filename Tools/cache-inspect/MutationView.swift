import Foundation
import Query
import QuerySQLite

/// A live or dead mutation in JSON.
struct MutationView: Encodable {
  let partition: String
  let id: String
  let number: Int
  let name: String
  let instance: String
  let version: Int
  let lane: String?
  let host: String?
  let state: String
  let waitReason: String?
  let deadReason: String?
  let attempts: Int
  let failures: Int
  let maxAttempts: Int?
  let maxAgeMicroseconds: Int64?
  let onFailure: String
  let coalesce: String
  let maybeApplied: Bool
  let idempotencyKey: String
  let createdAt: String
  let nextAttemptAt: String?
  let lastErrorType: String?
  let lastErrorText: String?
  let lastFailure: String?
  let failedAt: String?
  let leaseOwner: String?
  let isCancelRequested: Bool
  let awaitedAlias: String?
  let bodyFile: String?
  let byteCount: Int
  let coder: String
  let isSound: Bool

  init(_ mutation: InspectedMutation) {
    let entry = mutation.entry
    self.partition = mutation.partition
    self.id = entry.id.uuidString
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
    self.coalesce = mutation.coalesce
    self.maybeApplied = entry.maybeApplied
    self.idempotencyKey = entry.idempotencyKey
    self.createdAt = Moments.exact(Self.microseconds(entry.createdAt))
    self.nextAttemptAt = Moments.exact(entry.nextAttemptAt.map { Self.microseconds($0) })
    self.lastErrorType = entry.lastError?.typeName
    self.lastErrorText = entry.lastError?.text
    self.lastFailure = mutation.lastFailure
    self.failedAt = Moments.exact(mutation.failedAt)
    self.leaseOwner = mutation.leaseOwner
    self.isCancelRequested = mutation.isCancelRequested
    self.awaitedAlias = mutation.awaitedAlias
    self.bodyFile = mutation.bodyFile
    self.byteCount = entry.arguments.count
    self.coder = entry.coder
    self.isSound = mutation.isSound
  }

  /// A date of the library in microseconds since 1970, which any number may be.
  static func microseconds(_ date: Date) -> Int64 {
    Int64(clampingOrZero: (date.timeIntervalSince1970 * 1e6).rounded())
  }

  private static func microseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let (whole, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000)
    return isOver
      ? .max : whole.addingReportingOverflow(attoseconds / 1_000_000_000_000).partialValue
  }
}

extension Int64 {
  /// The nearest integer; 0 for NaN.
  init(clampingOrZero value: Double) {
    self = value.isNaN ? 0 : Int64(exactly: value) ?? (value < 0 ? .min : .max)
  }
}

/// All that is known of a live or dead mutation, in JSON.
struct MutationDetailView: Encodable {
  let mutation: MutationView
  let arguments: Data
  let attempts: [AttemptView]
  let dependencies: [String]
  let dependants: [String]

  init(_ detail: InspectedMutationDetail) {
    self.mutation = MutationView(detail.mutation)
    self.arguments = detail.mutation.entry.arguments
    self.attempts = detail.attempts.map { AttemptView($0) }
    self.dependencies = detail.dependencies.map(\.uuidString)
    self.dependants = detail.dependants.map(\.uuidString)
  }
}

/// An attempt in JSON.
struct AttemptView: Encodable {
  let number: Int
  let startedAt: String
  let endedAt: String?
  let outcome: String?
  let code: Int?
  let errorType: String?
  let errorText: String?
  let replacedKey: String?
  let replacedArguments: Data?

  init(_ attempt: OutboxAttempt) {
    self.number = attempt.number
    self.startedAt = Moments.exact(MutationView.microseconds(attempt.startedAt))
    self.endedAt = Moments.exact(attempt.endedAt.map { MutationView.microseconds($0) })
    self.outcome = attempt.outcome
    self.code = attempt.code
    self.errorType = attempt.error?.typeName
    self.errorText = attempt.error?.text
    self.replacedKey = attempt.replacedKey
    self.replacedArguments = attempt.replacedArguments
  }
}
