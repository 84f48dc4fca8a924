import Testing

@testable import QuerySQLite

@Suite struct RetryScheduleTests {
  private let start = SuspendingClock.now

  @Test func theDelayDoublesUpToHalfAMinute() {
    var schedule = RetrySchedule(firstDelay: .milliseconds(100))
    #expect(!schedule.isPending && schedule.due == nil)
    var now = self.start
    var delays = [Duration]()
    for _ in 0..<11 {
      schedule.didFail(now)
      let due = schedule.due ?? now
      delays.append(now.duration(to: due))
      now = due
    }
    #expect(
      delays
        == [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000].map {
          .milliseconds($0)
        })
  }

  @Test func aFailureInBetweenDoesNotPostponeTheNextRetry() {
    var schedule = RetrySchedule(firstDelay: .milliseconds(100))
    schedule.didFail(self.start)
    schedule.didFail(self.start + .milliseconds(99))
    #expect(schedule.due == self.start + .milliseconds(100))
    schedule.didFail(self.start + .milliseconds(100))
    #expect(schedule.due == self.start + .milliseconds(300))
  }

  @Test func aSuccessBeginsAnew() {
    var schedule = RetrySchedule(firstDelay: .milliseconds(100))
    schedule.didFail(self.start)
    schedule.didFail(self.start + .seconds(1))
    schedule.didSucceed()
    #expect(!schedule.isPending && schedule.due == nil)
    schedule.didFail(self.start)
    #expect(schedule.due == self.start + .milliseconds(100))
  }
}
