import Foundation
import Testing

@testable import Query

@Suite struct OutboxWaitTests {
  private func time(_ boottime: Int) -> OutboxTime {
    OutboxTime(
      wall: Date(), boottime: boottime, monotonic: 0, bootID: "boot", isSynchronised: true)
  }

  @Test func aWaitForATimeIsOverAtThatTime() {
    let wait = OutboxWait(.backoff, OutboxDelay(.microseconds(10), from: self.time(5)))
    #expect(!wait.isOver(at: self.time(14)))
    #expect(wait.delay?.remaining(self.time(14)) == 1)
    #expect(wait.isOver(at: self.time(15)))
    #expect(OutboxWait.time(.offline, nil).isOver(at: self.time(0)))
  }

  @Test func theOtherWaitsDoNotEndWithTime() {
    let end = self.time(.max)
    #expect(!OutboxWait.credentials.isOver(at: end))
    #expect(!OutboxWait.alias("9F2C").isOver(at: end))
    #expect(OutboxWait.credentials.delay == nil)
    #expect(OutboxWait.nothing.isOver(at: self.time(0)))
  }

  @Test(
    arguments: [
      .nothing, .credentials, .alias("9F2C"), .time(.offline, nil),
      .time(
        .retryAfter,
        OutboxDelay(endAt: 1, endBoottime: 2, bootID: "boot", length: 3)),
    ] as [OutboxWait])
  func aWaitIsTheSameAfterItWasStored(_ wait: OutboxWait) {
    #expect(OutboxWait(wait.reason, wait.delay, alias: wait.alias) == wait)
  }

  @Test func aTimeWithAReasonOfALaterReleaseIsABackoff() {
    let delay = OutboxDelay(endAt: 1, endBoottime: 2, bootID: "boot", length: 3)
    #expect(OutboxWait(nil, delay) == .time(.backoff, delay))
  }
}
