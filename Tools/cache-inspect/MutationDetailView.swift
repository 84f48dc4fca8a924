import FoundationEssentials
import Query
import QueryInspection
import ToolSupport

extension MutationJSON {
  /// The mutation, with what the file says beside its entry.
  init(_ mutation: InspectedMutation) {
    self.init(mutation.entry, partition: mutation.partition)
    self.details.coalesce = mutation.coalesce
    self.details.lastFailure = mutation.lastFailure
    self.details.failedAt = Moments.exact(mutation.failedAt)
    self.details.leaseOwner = mutation.leaseOwner
    self.details.isCancelRequested = mutation.isCancelRequested
    self.details.awaitedAlias = mutation.awaitedAlias
    self.details.bodyFile = mutation.bodyFile
    self.details.isSound = mutation.isSound
  }
}

/// All that is known of a live or dead mutation, in JSON.
struct MutationDetailView: Encodable {
  let mutation: MutationJSON
  let arguments: Data
  let attempts: [AttemptView]
  let dependencies: [String]
  let dependants: [String]

  init(_ detail: InspectedMutationDetail) {
    self.mutation = MutationJSON(detail.mutation)
    self.arguments = detail.mutation.entry.arguments
    self.attempts = detail.attempts.map { AttemptView($0) }
    self.dependencies = detail.dependencies.map { MutationJSON.text($0) }
    self.dependants = detail.dependants.map { MutationJSON.text($0) }
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
    self.startedAt = Moments.exact(Moments.microseconds(attempt.startedAt))
    self.endedAt = Moments.exact(attempt.endedAt.map { Moments.microseconds($0) })
    self.outcome = attempt.outcome
    self.code = attempt.code
    self.errorType = attempt.error?.typeName
    self.errorText = attempt.error?.text
    self.replacedKey = attempt.replacedKey
    self.replacedArguments = attempt.replacedArguments
  }
}
