import Glibc

/// A moment of the continuous clock.
///
/// Not its `Instant`, whose layout only the standard library knows: what holds one is copied by functions
/// that are looked up at run time, and each change of a stored value copies two.
@usableFromInline
struct BootInstant: Comparable, Sendable {
  /// Since the start of the machine, time of suspension included.
  private let nanoseconds: Int64

  /// The present.
  @usableFromInline
  static var now: Self {
    // A `timespec`, whose members this module does not see.
    var time = (seconds: 0, nanoseconds: 0)
    withUnsafeMutableBytes(of: &time) {
      // What the continuous clock reads on Linux.
      _ = clock_gettime(CLOCK_BOOTTIME, $0.assumingMemoryBound(to: timespec.self).baseAddress!)
    }
    return Self(nanoseconds: Int64(time.seconds) * 1_000_000_000 + Int64(time.nanoseconds))
  }

  private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// - Parameter microseconds: Since the start of the machine, at most 2⁶⁰; what a damaged file says is beyond all
  ///   clocks.
  init(microseconds: Int64) {
    let (product, isTooLarge) = microseconds.multipliedReportingOverflow(by: 1_000)
    self.init(nanoseconds: isTooLarge ? .max : product)
  }

  var instant: ContinuousClock.Instant {
    ContinuousClock().systemEpoch + .nanoseconds(self.nanoseconds)
  }

  /// In microseconds since the start of the machine, at least 1.
  var microseconds: Int64 { max(1, self.nanoseconds / 1_000) }

  @usableFromInline
  static func < (one: Self, other: Self) -> Bool { one.nanoseconds < other.nanoseconds }
}
