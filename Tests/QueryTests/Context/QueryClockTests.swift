import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryClockTests {
  private let date = Date(timeIntervalSince1970: 1_000)

  @Test func systemTimeIsTheSystems() {
    let before = Date()
    let now = SystemTimeClock.systemTime.now()
    #expect(before <= now && now <= Date())
  }

  @Test func aCustomClockAsksItsClosureEachTime() {
    let count = Counter()
    let clock: CustomQueryClock = .custom {
      Date(timeIntervalSince1970: TimeInterval(count.increment()))
    }
    #expect(clock.now() == Date(timeIntervalSince1970: 1))
    #expect(clock.now() == Date(timeIntervalSince1970: 2))
  }

  @Test func timeFreezeStandsStillAtItsDate() {
    let clock: TimeFreezeClock = .timeFreeze(self.date)
    #expect(clock.now() == self.date)
    #expect(clock.now() == self.date)
  }

  @Test func timeFreezeWithoutADateStandsStillAtItsCreation() {
    let before = Date()
    let clock: TimeFreezeClock = .timeFreeze
    let after = Date()
    #expect(before <= clock.now() && clock.now() <= after)
    #expect(clock.now() == clock.now())
  }

  @Test func aFrozenClockShowsTheDateOfItsFreezing() {
    let clock = TestClock(self.date)
    let frozen = clock.frozen()
    clock.advance(by: 60)
    #expect(frozen.now() == self.date)
    #expect(clock.now() == self.date + 60)
    #expect(frozen.frozen().now() == self.date)
  }
}
