import Foundation

/// Random numbers that are the same for the same seed, so that a walk can be repeated.
///
/// SplitMix64: every seed is a good one.
public struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  /// Creates a generator.
  ///
  /// - Parameter seed: The initial state.
  public init(seed: UInt64) { self.state = seed }

  /// The seeds of a random walk: some that are always the same, and one that is new in each run.
  /// The environment variable `SEED` replaces them all by one.
  public static func seeds(_ count: UInt64) -> [UInt64] {
    if let seed = ProcessInfo.processInfo.environment["SEED"].flatMap({ UInt64($0) }) {
      return [seed]
    }
    return Array(1...count) + [UInt64.random(in: 1_000...999_999_999)]
  }

  public mutating func next() -> UInt64 {
    self.state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = self.state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
