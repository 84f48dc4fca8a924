import Foundation
import Query

/// Something that one caller wants written, in a transaction that may have others' jobs in it too.
struct OutboxJob: Sendable {
  let partition: OutboxPartition

  /// Whether it may lease a row, so that this process needs its lock file.
  let needsOwner: Bool

  /// Changes the tables. Called again where the transaction was undone by another one's failure.
  let body: @Sendable (inout OutboxTransaction) throws -> Void

  /// Since when its caller waits: the wait for a lock is one, whatever else this thread waited for before.
  let since = SuspendingClock.now

  /// Is told when it is committed, or that it failed.
  let completion: @Sendable ((any Error)?) -> Void
}
