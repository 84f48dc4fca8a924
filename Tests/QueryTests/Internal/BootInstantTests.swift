import Testing

@testable import Query

@Suite struct BootInstantTests {
  @Test func isTheContinuousClock() {
    let before = ContinuousClock.now
    let now = BootInstant.now
    let after = ContinuousClock.now
    #expect(before <= now.instant && now.instant <= after)
  }

  @Test func isExactToTheMicrosecond() {
    let instant = BootInstant(microseconds: 4_000_000_123_456)
    #expect(instant.microseconds == 4_000_000_123_456)
    #expect(
      instant.instant == ContinuousClock().systemEpoch + .seconds(4_000_000)
        + .microseconds(123_456))
    #expect(instant < BootInstant(microseconds: 4_000_000_123_457))
  }

  /// A damaged file may say any number.
  @Test(arguments: [0, 1, 1 << 60, .max] as [Int64])
  func takesAnyInstant(_ microseconds: Int64) {
    let (taken, now) = (BootInstant(microseconds: microseconds), BootInstant.now)
    #expect((taken < now) == (microseconds < 2))
    #expect((taken > now) == (microseconds > 1))
  }
}
