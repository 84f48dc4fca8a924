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
}

/// How the attempt of a lease ended.
package enum AttemptReport: Sendable {
  /// The mutation succeeded.
  case succeeded
  /// It is pending again.
  case pending(MutationFailure, MutationWaitReason?)
  /// It is dead.
  case dead(MutationDeadReason)
  /// What the server has took its place.
  case superseded
  /// A caller has cancelled it.
  case cancelled
  /// This process no longer held the row: nothing that the attempt did counts.
  case leaseLost
}
