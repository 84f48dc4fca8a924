import Testing

@testable import Query

@Suite struct BootInstantTests {
  @Test func isTheContinuousClock() {
    let before = ContinuousClock.now
    let now = BootInstant.now
    let after = ContinuousClock.now
    #expect(before <= now.instant && now.instant <= after)
    #expect(BootInstant(before) <= now && now <= BootInstant(after))
  }

  @Test func isExactToTheNanosecond() {
    let instant = ContinuousClock().systemEpoch + .seconds(4_000_000) + .nanoseconds(123_456_789)
    #expect(BootInstant(instant).instant == instant)
    #expect(BootInstant(instant) < BootInstant(instant + .nanoseconds(1)))
  }

  /// A damaged file may say any number.
  @Test(arguments: [Int64.min, -1, 0, 1, .max])
  func takesAnyInstant(_ microseconds: Int64) {
    let instant = ContinuousClock.Instant(microsecondsSinceBoot: microseconds)
    let (taken, now) = (BootInstant(instant), BootInstant.now)
    #expect((taken < now) == (microseconds < 2))
    #expect((taken > now) == (microseconds == .max))
  }
}
