package import Foundation
package import Query

/// A live or dead mutation, with what an ``OutboxEntry`` does not say.
package struct InspectedMutation: Hashable, Sendable {
  /// The account.
  package let partition: String
  /// The mutation.
  package let entry: OutboxEntry
  /// What `coalesce` was given: `none` or `latest`.
  package let coalesce: String
  /// The file in `bodies/` that belongs to it.
  package let bodyFile: String?
  /// The alias that it waits for.
  package let awaitedAlias: String?
  /// The name of the lock file of the process that runs it.
  package let leaseOwner: String?
  /// How often it took its process down.
  package let crashCount: Int
  /// Whether somebody wants it to be cancelled.
  package let isCancelRequested: Bool
  /// The class of the last failure.
  package let lastFailure: String?
  /// When that was, microseconds since 1970.
  package let failedAt: Int64?
  /// Whether the bytes are those that were enqueued.
  package let isSound: Bool

  init(_ row: OutboxRow, partition: String, coalesce: String, _ view: OutboxView) {
    self.partition = partition
    self.entry = row.entry(view)
    self.coalesce = coalesce
    self.bodyFile = row.bodyFile
    self.awaitedAlias = row.standing.awaitedAlias
    self.leaseOwner = row.standing.lease?.owner
    self.crashCount = row.standing.crashCount
    self.isCancelRequested = row.standing.isCancelRequested
    self.lastFailure = row.standing.lastFailure
    self.failedAt = row.standing.failedAt
    self.isSound = row.isSound
  }
}

/// All that is known of a live or dead mutation.
package struct InspectedMutationDetail: Hashable, Sendable {
  /// The mutation.
  package let mutation: InspectedMutation
  /// Its last attempts, the oldest first.
  package let attempts: [OutboxAttempt]
  /// The mutations that have to succeed before it.
  package let dependencies: [UUID]
  /// The mutations that wait for its success.
  package let dependants: [UUID]
}

/// A name for what the server knows by another one.
package struct InspectedAlias: Hashable, Sendable {
  /// The account.
  package let partition: String
  /// The name.
  package let alias: String
  /// What the server calls it.
  package let value: String
  /// The mutation that has published it.
  package let publisher: UUID
  /// When, microseconds since 1970.
  package let publishedAt: Int64
}

/// A mutation that needs another one.
package struct InspectedDependency: Hashable, Sendable {
  /// The account.
  package let partition: String
  /// The number of the one that waits.
  package let dependant: Int64
  /// The number of the one that has to succeed.
  package let target: Int64
}
