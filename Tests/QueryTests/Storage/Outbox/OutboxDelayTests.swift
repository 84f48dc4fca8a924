import Foundation
import Testing

@testable import Query

/// Replay §10: a wait is not shortened by a restart, nor lengthened by a wrong clock.
@Suite struct OutboxDelayTests {
  private func time(
    wall: Double, boottime: Int, boot: String = "a", isSynchronised: Bool = true
  ) -> OutboxTime {
    OutboxTime(
      wall: Date(timeIntervalSince1970: wall), boottime: boottime * 1_000_000,
      monotonic: boottime * 1_000_000, bootID: boot, isSynchronised: isSynchronised)
  }

  @Test func withinABootTheWallClockHasNoSay() {
    let wait = OutboxDelay(.seconds(60), from: self.time(wall: 1_000, boottime: 10))
    #expect(wait.remaining(self.time(wall: 9_000_000, boottime: 30)) == 40_000_000)
    #expect(wait.remaining(self.time(wall: 0, boottime: 69)) == 1_000_000)
    #expect(wait.remaining(self.time(wall: 0, boottime: 70)) == 0)
    #expect(wait.dueBoottime(self.time(wall: 0, boottime: 30)) == 70_000_000)
    #expect(wait.dueBoottime(self.time(wall: 0, boottime: 80)) == 70_000_000)
    #expect(wait.dueBoottime(self.time(wall: 5_000, boottime: 5, boot: "b")) == 5_000_000)
  }

  @Test func acrossBootsWhatIsLeftIsNeverMoreThanTheWholeWait() {
    let wait = OutboxDelay(.seconds(60), from: self.time(wall: 1_000, boottime: 500))
    #expect(wait.remaining(self.time(wall: 1_020, boottime: 5, boot: "b")) == 40_000_000)
    #expect(wait.remaining(self.time(wall: 0, boottime: 5, boot: "b")) == 60_000_000)
    #expect(wait.remaining(self.time(wall: 5_000, boottime: 5, boot: "b")) == 0)
    let converted = wait.converted(to: self.time(wall: 0, boottime: 5, boot: "b"))
    #expect(converted.endBoottime == 65_000_000)
    #expect(converted.bootID == "b")
    #expect(converted.length == 60_000_000)
    // A wall clock that is behind makes no wait of none.
    let none = OutboxDelay(.zero, from: self.time(wall: 1_000, boottime: 500))
    #expect(none.remaining(self.time(wall: 0, boottime: 5, boot: "b")) == 0)
  }

  @Test func whatNoClockCanShowIsNoReasonToStop() {
    let wait = OutboxDelay(
      endAt: .min, endBoottime: .max, bootID: "a", length: .max)
    #expect(wait.remaining(self.time(wall: 0, boottime: 1)) > 0)
    #expect(wait.remaining(self.time(wall: 9e12, boottime: 1, boot: "b")) == 0)
    let long = OutboxDelay(.seconds(Int64.max), from: self.time(wall: 1_000, boottime: 10))
    #expect(long.remaining(self.time(wall: 1_000, boottime: 10)) > 0)
    let negative = OutboxDelay(.seconds(-5), from: self.time(wall: 1_000, boottime: 10))
    #expect(negative.remaining(self.time(wall: 1_000, boottime: 10)) == 0)
  }
}
