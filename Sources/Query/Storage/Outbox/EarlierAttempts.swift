/// What the outbox knew of a mutation's earlier attempts when one began: what becomes of the mutation
/// after a failure depends on it.
public struct EarlierAttempts: Hashable, Sendable {
  /// How many of them failed in a way that is not known.
  public var unknownFailures: Int
  /// How long ago the first of those was; zero if there was none.
  public var unknownFor: Duration
  /// Whether the last one did not reach the host, or its answer was lost.
  public var endedUnreached: Bool
  /// Whether the host has answered since the last attempt that did not reach it, as far as is known.
  public var hostAnswers: Bool

  /// Creates a record. See the properties for what each is.
  public init(
    unknownFailures: Int = 0, unknownFor: Duration = .zero, endedUnreached: Bool = false,
    hostAnswers: Bool = false
  ) {
    self.unknownFailures = unknownFailures
    self.unknownFor = unknownFor
    self.endedUnreached = endedUnreached
    self.hostAnswers = hostAnswers
  }
}

extension OutboxStanding {
  /// What is known of its earlier attempts.
  ///
  /// - Parameters:
  ///   - now: The time.
  ///   - synchronisedAt: The latest wall time that was known to be right.
  ///   - doesHostAnswer: Whether its host has answered what was last sent to it, as far as is known.
  package func earlierAttempts(
    _ now: OutboxTime, synchronisedAt: Int64?, doesHostAnswer: Bool = false
  ) -> EarlierAttempts {
    let age = self.unknownSince?.elapsed(now, synchronisedAt: synchronisedAt) ?? 0
    return EarlierAttempts(
      unknownFailures: self.unknownFailures, unknownFor: .microseconds(age),
      endedUnreached: self.lastFailure == MutationFailure.connectivity.word,
      hostAnswers: doesHostAnswer && self.lastFailure != nil)
  }
}
