package import FoundationEssentials
package import Query
import QuerySQLite

/// A live or dead mutation, with what an ``OutboxEntry`` leaves out.
package struct InspectedMutation: Hashable, Sendable {
  /// The account.
  package let partition: String
  /// The mutation.
  package let entry: OutboxEntry
  /// The `coalesce` policy: `none` or `latest`.
  package let coalesce: String
  /// The file in `bodies/` that belongs to it.
  package let bodyFile: String?
  /// The alias that it waits for.
  package let awaitedAlias: String?
  /// The name of the lock file of the process that runs it.
  package let leaseOwner: String?
  /// How often it crashed its process.
  package let crashCount: Int
  /// Whether a caller has requested its cancellation.
  package let isCancelRequested: Bool
  /// The class of the last failure.
  package let lastFailure: String?
  /// When that failure was, microseconds since 1970.
  package let failedAt: Int64?
  /// Whether its bytes are those that were enqueued.
  package let isSound: Bool

  init(_ row: OutboxRow, partition: String, _ view: OutboxView) {
    self.partition = partition
    self.entry = row.entry(view)
    self.coalesce = row.coalesce
    self.bodyFile = row.bodyFile
    self.awaitedAlias = row.standing.wait.alias
    self.leaseOwner = row.standing.lease?.owner
    self.crashCount = row.standing.crashCount
    self.isCancelRequested = row.standing.isCancelRequested
    self.lastFailure = row.standing.lastFailure
    self.failedAt = row.standing.failedAt
    self.isSound = row.isSound
  }
}

/// A live or dead mutation with all its details.
package struct InspectedMutationDetail: Hashable, Sendable {
  /// The mutation.
  package let mutation: InspectedMutation
  /// Its last attempts, the oldest first.
  package let attempts: [OutboxAttempt]
  /// The mutations that must succeed before it.
  package let dependencies: [UUID]
  /// The mutations that wait for it to succeed.
  package let dependants: [UUID]
}

/// A client's name for something that the server names otherwise.
package struct InspectedAlias: Hashable, Sendable {
  /// The account.
  package let partition: String
  /// The name.
  package let alias: String
  /// The server's name for it.
  package let value: String
  /// The mutation that published it.
  package let publisher: UUID
  /// When, microseconds since 1970.
  package let publishedAt: Int64
}

/// A mutation that depends on another one.
package struct InspectedDependency: Hashable, Sendable {
  /// The account.
  package let partition: String
  /// The number of the waiting mutation.
  package let dependant: Int64
  /// The number of the mutation that must succeed.
  package let target: Int64
}
