import Foundation
import Testing

@testable import Query

/// Replay §10: a wrong clock makes nothing old.
@Suite struct OutboxAgeTests {
  private func time(
    wall: Double, boottime: Int, boot: String = "a", isSynchronised: Bool = true
  ) -> OutboxTime {
    OutboxTime(
      wall: Date(timeIntervalSince1970: wall), boottime: boottime * 1_000_000,
      monotonic: boottime * 1_000_000, bootID: boot, isSynchronised: isSynchronised)
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
}
