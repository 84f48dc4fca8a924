/// What the outbox knew of a mutation's earlier attempts when one began: what becomes of the mutation
/// after a failure depends on it.
public struct EarlierAttempts: Hashable, Sendable {
  /// How many of them failed in a way that is not known.
  public var unknownFailures: Int
  /// How long ago the first of those was; zero if there was none.
  public var unknownFor: Duration

  /// Creates a record. See the properties for what each is.
  public init(unknownFailures: Int = 0, unknownFor: Duration = .zero) {
    self.unknownFailures = unknownFailures
    self.unknownFor = unknownFor
  }
}

extension OutboxStanding {
  /// What is known of its earlier attempts.
  ///
  /// - Parameters:
  ///   - now: The time.
  ///   - synchronisedAt: The latest wall time that was known to be right.
  package func earlierAttempts(_ now: OutboxTime, synchronisedAt: Int64?) -> EarlierAttempts {
    let age = self.unknownSince?.elapsed(now, synchronisedAt: synchronisedAt) ?? 0
    return EarlierAttempts(unknownFailures: self.unknownFailures, unknownFor: .microseconds(age))
  }
}
