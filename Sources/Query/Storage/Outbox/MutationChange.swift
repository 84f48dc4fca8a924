package import FoundationEssentials

/// What a call has made of a mutation: the clients of this process show it before the call returns, and read
/// the outbox later.
package enum MutationChange: Sendable {
  /// It has ended without success.
  ///
  /// - Parameter maybeApplied: Whether its server may have carried it out.
  case ended(UUID, maybeApplied: Bool)
  /// It is to be sent at once.
  case retried(UUID)
  /// One is to be sent at once, with other arguments.
  case rewritten
}

/// A client that shows mutations.
protocol MutationFollower: AnyObject, Sendable {
  func didChange(_ change: MutationChange)
}
