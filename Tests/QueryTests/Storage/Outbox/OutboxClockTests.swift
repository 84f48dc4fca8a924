import Foundation
import Query
import Testing

@Suite struct OutboxClockTests {
  /// Leases go by one of them, waits by the other, and dates by the wall clock.
  @Test func allTimesOfATestMoveTogether() {
    let clock = MockQueryClock()
    let times = OutboxClock(clock)
    let before = times.now()
    clock.advance(by: .seconds(5))
    let after = times.now()
    #expect(after.wall == before.wall + 5)
    #expect(after.boottime == before.boottime + 5_000_000)
    #expect(after.monotonic == before.monotonic + 5_000_000)
  }
}
