/// How often members of a pack were tried again without being told to, so that none is for ever.
struct PackRetries: Sendable {
  /// How often a member is tried again at most.
  static let most = 3

  /// How often each was fetched, or seemed to need no fetch, while the storage does not have it.
  private var missing = [QueryIdentity: Int]()
  /// How often each was cancelled by somebody else, as by a reset of its store.
  private var cancelled = [QueryIdentity: Int]()

  /// Whether a member is fetched whatever a store in memory has: the disk does not have it.
  func isForced(_ identity: QueryIdentity) -> Bool { self.missing[identity] != nil }

  /// Whether a member is fetched once more if the storage does not have it.
  ///
  /// - Parameter isLate: Whether it was fetched while the storage could not write, which may have dropped it.
  ///   Otherwise it is fetched once more, since a value that is too large costs the network each time.
  func allowMissing(_ identity: QueryIdentity, isLate: Bool) -> Bool {
    self.missing[identity, default: 0] < (isLate ? Self.most : 1)
  }

  /// Counts a member that is missing.
  mutating func didMiss(_ identity: QueryIdentity) { self.missing[identity, default: 0] += 1 }

  /// Counts a cancellation.
  ///
  /// - Returns: Whether the member is fetched once more.
  mutating func didCancel(_ identity: QueryIdentity) -> Bool {
    self.cancelled[identity, default: 0] += 1
    return self.cancelled[identity, default: 0] <= Self.most
  }
}
