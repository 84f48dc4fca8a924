import Foundation
import Testing

@testable import Query

/// When a host is left alone, and when it is not.
@Suite struct HostStandingTests {
  private func time(_ seconds: Int = 100, boot: String = "boot") -> OutboxTime {
    OutboxTime(
      wall: Date(timeIntervalSince1970: Double(seconds)), boottime: seconds * 1_000_000,
      monotonic: 0, bootID: boot, isSynchronised: true)
  }

  private func after(
    _ report: HostReport, _ old: HostStanding?, at seconds: Int = 100
  ) -> HostStanding? {
    HostStanding.after(report, old, areCredentialsOld: false, at: self.time(seconds))
  }

  @Test func aHostThatAnswersIsWell() {
    #expect(self.after(.answered, nil) == nil)
    #expect(self.after(.nothing, nil) == nil)
    let failed = self.after(.unreachable(pause: .seconds(20)), nil)
    #expect(self.after(.answered, failed) == nil)
    #expect(self.after(.nothing, failed) == failed)
  }

  @Test func failuresOfAttemptsThatWereUnderWayAreNotCounted() {
    var standing: HostStanding?
    for _ in 0..<3 { standing = self.after(.unreachable(pause: .seconds(20)), standing) }
    #expect(standing?.room(at: self.time()) == HostStanding.Room.none)
    #expect(self.after(.unreachable(pause: .seconds(20)), standing) == standing)
    #expect(standing?.room(at: self.time(120)) == .probe)
    let longer = self.after(.unreachable(pause: .seconds(20)), standing, at: 120)
    #expect(longer?.remaining(self.time(120)) == 40_000_000)
  }

  @Test func aProbeHoldsTheOthersBackForItsTimeAndNotLonger() {
    let lease = OutboxStanding.Lease(
      owner: "a", endMonotonic: 0, bootID: "boot", startedMonotonic: 5, startedAt: 0)
    func left(_ microseconds: Int) -> Duration? {
      var now = self.time()
      now.monotonic = 5 + microseconds
      return HostStanding.left(ofProbe: lease, at: now)
    }
    #expect(left(0) == .seconds(10))
    #expect(left(9_999_999) == .microseconds(1))
    #expect(left(10_000_000) == nil)
  }

  @Test func aPersonWhoTriesAgainAndAgainDoesNotLengthenTheWait() {
    var standing: HostStanding?
    for _ in 0..<3 { standing = self.after(.unreachable(pause: .seconds(20)), standing) }
    for second in 101...110 {
      let probed = standing?.retried(at: self.time(second))
      #expect(probed?.room(at: self.time(second)) == .probe)
      standing = self.after(.unreachable(pause: .seconds(20)), probed, at: second)
      #expect(standing?.remaining(self.time(second)) == 40_000_000)
    }
    // One that comes when the wait is over counts.
    let longer = self.after(.unreachable(pause: .seconds(20)), standing, at: 150)
    #expect(longer?.remaining(self.time(150)) == 80_000_000)
  }

  @Test func aWaitThatWasAskedForIsNotShortened() {
    let long = self.after(.askedToWait(.seconds(60)), nil)
    #expect(self.after(.askedToWait(.seconds(5)), long) == long)
    let longer = self.after(.askedToWait(.seconds(90)), long)
    #expect(longer?.remaining(self.time()) == 90_000_000)
    #expect(long?.retried(at: self.time()) == long)
    #expect(long?.released(.authentication, at: self.time()) == long)
    #expect(long?.released(.offline, at: self.time()) == long)
  }

  @Test func aRefusalLastsUntilCredentialsChange() throws {
    let refused = try #require(self.after(.refusedCredentials, nil))
    for time in [self.time(1_000_000), self.time(5, boot: "other")] {
      #expect(refused.room(at: time) == HostStanding.Room.none)
      #expect(refused.remaining(time) == nil)
      #expect(!refused.isForgotten(at: time))
    }
    let released = refused.released(.authentication, at: self.time(200))
    #expect(released?.room(at: self.time(200)) == .probe)
    #expect(released?.isForgotten(at: self.time(200 + 86_400)) == false)
    #expect(released?.isForgotten(at: self.time(200 + 86_401)) == true)
  }

  @Test func slotsAreLimited() throws {
    var slots = HostSlots(["a": 2], others: 3)
    let asked = try #require(self.after(.askedToWait(.seconds(60)), nil))
    slots.limit("a", by: asked, isProbed: false, at: self.time())
    slots.limit("b", by: asked, isProbed: false, at: self.time(160))
    slots.limit("c", by: asked, isProbed: true, at: self.time(160))
    #expect(slots == HostSlots(["a": 0, "b": 1, "c": 0], others: 3))
  }
}
