import Foundation
import Query
import Testing

@testable import QuerySQLite

/// Replay §10: a wait is not shortened by a restart, nor lengthened by a wrong clock; a wrong clock
/// makes nothing old.
@Suite struct OutboxWaitTests {
  private func time(
    wall: Double, boottime: Int, boot: String = "a", isSynchronised: Bool = true
  ) -> OutboxTime {
    OutboxTime(
      wall: Date(timeIntervalSince1970: wall), boottime: boottime * 1_000_000,
      monotonic: boottime * 1_000_000, bootID: boot, isSynchronised: isSynchronised)
  }

  @Test func withinABootTheWallClockHasNoSay() {
    let wait = OutboxWait(.seconds(60), from: self.time(wall: 1_000, boottime: 10))
    #expect(wait.remaining(self.time(wall: 9_000_000, boottime: 30)) == 40_000_000)
    #expect(wait.remaining(self.time(wall: 0, boottime: 69)) == 1_000_000)
    #expect(wait.remaining(self.time(wall: 0, boottime: 70)) == 0)
    #expect(wait.dueBoottime(self.time(wall: 0, boottime: 30)) == 70_000_000)
    #expect(wait.dueBoottime(self.time(wall: 0, boottime: 70)) == 0)
  }

  @Test func acrossBootsWhatIsLeftIsNeverMoreThanTheWholeWait() {
    let wait = OutboxWait(.seconds(60), from: self.time(wall: 1_000, boottime: 500))
    #expect(wait.remaining(self.time(wall: 1_020, boottime: 5, boot: "b")) == 40_000_000)
    #expect(wait.remaining(self.time(wall: 0, boottime: 5, boot: "b")) == 60_000_000)
    #expect(wait.remaining(self.time(wall: 5_000, boottime: 5, boot: "b")) == 0)
    let converted = wait.converted(to: self.time(wall: 0, boottime: 5, boot: "b"))
    #expect(converted.endBoottime == 65_000_000)
    #expect(converted.bootID == "b")
    #expect(converted.length == 60_000_000)
  }

  @Test func whatNoClockCanShowIsNoReasonToStop() {
    let wait = OutboxWait(
      endAt: .min, endBoottime: .max, bootID: "a", length: .max)
    #expect(wait.remaining(self.time(wall: 0, boottime: 1)) > 0)
    #expect(wait.remaining(self.time(wall: 9e12, boottime: 1, boot: "b")) == 0)
    let long = OutboxWait(.seconds(Int64.max), from: self.time(wall: 1_000, boottime: 10))
    #expect(long.remaining(self.time(wall: 1_000, boottime: 10)) > 0)
    let negative = OutboxWait(.seconds(-5), from: self.time(wall: 1_000, boottime: 10))
    #expect(negative.remaining(self.time(wall: 1_000, boottime: 10)) == 0)
  }

  @Test(arguments: [
    // Wall time, seconds since the boot, whether the clock is known to be right: seconds that count.
    (5_000.0, 20, true, 4_000), (5_000.0, 20, false, 20), (900.0, 20, true, 20),
    (1_010.0, 20, true, 20),
  ])
  func acrossBootsTheAgeIsWhatHasCertainlyPassed(
    _ wall: Double, _ boottime: Int, _ isSynchronised: Bool, _ expected: Int
  ) {
    let age = OutboxAge(from: self.time(wall: 1_000, boottime: 500))
    let now = self.time(wall: wall, boottime: boottime, boot: "b", isSynchronised: isSynchronised)
    let elapsed = age.elapsed(now, synchronisedAt: 1_005_000_000)
    #expect(elapsed == Int64(expected) * 1_000_000)
  }

  @Test func aMutationThatWasMadeByAWrongClockDoesNotGrowOldByARightOne() {
    let age = OutboxAge(from: self.time(wall: 0, boottime: 500, isSynchronised: false))
    let now = self.time(wall: 1_700_000_000, boottime: 20, boot: "b")
    #expect(age.elapsed(now, synchronisedAt: nil) == 20_000_000)
  }

  @Test func withinABootTheAgeGoesByTheBoot() {
    let age = OutboxAge(from: self.time(wall: 0, boottime: 500, isSynchronised: false))
    #expect(age.elapsed(self.time(wall: -1e9, boottime: 620), synchronisedAt: nil) == 120_000_000)
  }

  @Test func durationsAreRoundedUpToMicroseconds() {
    #expect(Duration.nanoseconds(1).microseconds == 1)
    #expect(Duration.milliseconds(5).microseconds == 5_000)
    #expect(Duration.seconds(Int64.max).microseconds == .max)
  }

  @Test func theKernelTellsTheTime() {
    let time = OutboxClock.systemWithSync.now()
    #expect(time.boottime + 1_000_000 >= time.monotonic)
    #expect(time.bootID.count == 36)
  }
}
