import Query

/// A place among the entries under a path, in the order of their identities: where a scan that runs in
/// several transactions continues.
struct IdentityCursor: Equatable {
  /// The lowest identity that was not reached yet.
  private(set) var lower: String

  /// The end of the range that it is in, which is not part of it.
  private(set) var upper: String

  private let ranges: [Range]
  private var next = 1

  private struct Range: Equatable {
    let lower: String
    let upper: String
  }

  /// The first place under a path.
  init(_ prefix: IdentityPrefix) {
    self.ranges = prefix.ranges.map { Range(lower: $0.lower, upper: $0.upper) }
    (self.lower, self.upper) = (self.ranges[0].lower, self.ranges[0].upper)
  }

  /// Moves on to the place after an identity.
  mutating func pass(_ identity: String) {
    // No text lies between the two.
    self.lower = identity + "\0"
  }

  /// Moves on to the next range.
  ///
  /// - Returns: Whether there is one.
  mutating func passRange() -> Bool {
    guard self.next < self.ranges.count else { return false }
    (self.lower, self.upper) = (self.ranges[self.next].lower, self.ranges[self.next].upper)
    self.next += 1
    return true
  }
}
