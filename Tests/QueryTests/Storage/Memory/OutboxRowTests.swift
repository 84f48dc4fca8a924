import Foundation
import Testing

@testable import Query

@Suite struct OutboxRowTests {
  private func time(_ boottime: Int) -> OutboxTime {
    OutboxTime(
      wall: Date(), boottime: boottime, monotonic: 0, bootID: "boot", isSynchronised: true)
  }

  @Test func aWaitForATimeIsOverAtThatTime() {
    let wait = OutboxWait.time(.backoff, due: 10)
    #expect(!wait.isOver(at: self.time(9)))
    #expect(wait.remaining(at: self.time(9)) == .microseconds(1))
    #expect(wait.isOver(at: self.time(10)))
    #expect(wait.remaining(at: self.time(10)) == nil)
  }

  @Test func theOtherWaitsDoNotEndWithTime() {
    let end = self.time(.max)
    #expect(!OutboxWait.credentials.isOver(at: end))
    #expect(!OutboxWait.alias("9F2C").isOver(at: end))
    #expect(OutboxWait.credentials.remaining(at: end) == nil)
    #expect(OutboxWait.nothing.isOver(at: self.time(0)))
  }

  @Test func durationsAreWholeMicroseconds() {
    #expect(Duration.milliseconds(1_500).clampedMicroseconds == 1_500_000)
    #expect(Duration.nanoseconds(1_999).clampedMicroseconds == 1)
    #expect(Duration.seconds(-2).clampedMicroseconds == -2_000_000)
  }

  @Test func aDurationThatNoClockWillSeeCanBeAddedToATime() {
    let long = Duration.seconds(Int64.max).clampedMicroseconds
    #expect(long > 1_000 * 365 * 86_400 * 1_000_000)
    #expect(!long.addingReportingOverflow(long / 2).overflow)
    let past = Duration.seconds(Int64.min).clampedMicroseconds
    #expect(past < 0)
  }
}
