import Foundation
import Query

/// A write of one caller, in a transaction that may include other callers' jobs.
struct OutboxJob: Sendable {
  let partition: OutboxPartition

  /// Whether it may lease a row, so that this process needs its lock file.
  let needsOwner: Bool

  /// Changes the tables. Called again if another job's failure rolled the transaction back.
  let body: @Sendable (inout OutboxTransaction) throws -> Void

  /// Since when its caller has waited: waiting for a lock counts from here, whatever this thread
  /// waited for before.
  let since = SuspendingClock.now

  /// Called when it is committed, or has failed.
  let completion: @Sendable ((any Error)?) -> Void
}
