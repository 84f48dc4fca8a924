/// Runs the leased rows of one registered mutation, through the store that the client has for it.
package protocol DurableRunner: Sendable {
  /// Which rows it can run.
  var handler: MutationHandler { get }

  /// The type of the request, with its modifiers.
  var requestType: Any.Type { get }

  /// Whether the network does not matter to it.
  var isAttemptedWhileOffline: Bool { get }

  /// Lets the edits of the mutation be shown in the stores of the client.
  func declareEdits()

  /// Runs the attempt of a lease, settles it, and reports how it ended, once the end is committed.
  /// Cancelling the task cancels the attempt, whose row is then pending and due at once.
  func run(_ lease: MutationLease) async -> AttemptReport

  /// How many rows of a lane it sends in one call at most; 1: each alone.
  var batchLimit: Int { get }

  /// The call that sends so many leased rows of a lane together; nil: it sends each alone.
  func makeBatch(of count: Int) -> (any AttemptBatch)?

  /// As ``run(_:)``, for one of several rows that are sent in one call.
  func run(_ lease: MutationLease, in batch: BatchPlace) async -> AttemptReport
}

extension DurableRunner {
  package var batchLimit: Int { 1 }
  package func makeBatch(of count: Int) -> (any AttemptBatch)? { nil }
  package func run(_ lease: MutationLease, in batch: BatchPlace) async -> AttemptReport {
    await self.run(lease)
  }
}

/// A call that sends several mutations.
package protocol AttemptBatch: AnyObject, Sendable {
  /// Lets the others go on if they still wait for the one at this place. Those behind it are left out, since it
  /// may be sent later.
  func leave(_ place: Int)

  /// Waits until those before a place have left.
  func turn(of place: Int) async
}

/// One of the mutations that a call sends.
package struct BatchPlace: Sendable {
  package let batch: any AttemptBatch
  package let place: Int

  package init(_ batch: any AttemptBatch, _ place: Int) {
    self.batch = batch
    self.place = place
  }
}

/// How the attempt of a lease ended.
package enum AttemptReport: Sendable {
  /// The mutation succeeded.
  case succeeded
  /// It is pending again.
  case pending(MutationFailure, MutationWaitReason?)
  /// It was leased with others, and is pending again: nothing was learned of it.
  case leftOut
  /// It is dead.
  case dead(MutationDeadReason)
  /// What the server has took its place.
  case superseded
  /// A caller has cancelled it.
  case cancelled
  /// This process no longer held the row: nothing that the attempt did counts.
  case leaseLost
}
