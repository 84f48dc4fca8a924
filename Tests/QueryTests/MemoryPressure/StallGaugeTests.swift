import Foundation
import Testing

@testable import Query

/// What one trigger and the kernel's counts tell.
@Suite struct StallGaugeTests {
  private func reading(_ stalled: Int64, _ milliseconds: Int) -> StallGauge.Reading {
    StallGauge.Reading(stalled: stalled, time: .milliseconds(milliseconds))
  }

  @Test func aTriggerHasFiredIfThePollSaysSo() {
    func hasFired(_ events: Int32) -> Bool {
      StallGauge.hasFired(pollfd(fd: 0, events: Int16(POLLPRI), revents: Int16(events)))
    }
    #expect(hasFired(POLLPRI) && hasFired(POLLPRI | POLLERR))
    #expect(!hasFired(0) && !hasFired(POLLERR))
  }

  @Test func theTotalOfAllProgramsIsRead() {
    let text = """
      some avg10=1.00 avg60=0.00 avg300=0.00 total=333
      full avg10=0.50 avg60=0.00 avg300=0.00 total=222

      """
    #expect(StallGauge.Reading(text, at: .seconds(5)) == self.reading(222, 5_000))
    #expect(StallGauge.Reading("some avg10=1.00 total=333\n", at: .zero) == nil)
    #expect(StallGauge.Reading("full avg10=1.00 total=x\n", at: .zero) == nil)
    #expect(StallGauge.Reading("", at: .zero) == nil)
  }

  @Test func theTriggerIsAWarningAndBeginsTheMeasuring() {
    var gauge = StallGauge()
    #expect(gauge.deadline == nil)
    #expect(gauge.take(self.reading(9_000_000, 100), hasFired: true) == [.warning])
    #expect(gauge.deadline == .milliseconds(2_100))
    #expect(gauge.take(self.reading(9_199_999, 2_100), hasFired: false) == [])
    #expect(gauge.deadline == nil)
  }

  @Test func aTenthOfTheTimeIsCritical() {
    var gauge = StallGauge()
    _ = gauge.take(self.reading(9_000_000, 100), hasFired: true)
    #expect(gauge.take(self.reading(9_200_000, 2_100), hasFired: false) == [.critical])
    // The one after is measured from the next time the trigger fires.
    #expect(gauge.take(self.reading(20_000_000, 90_000), hasFired: true) == [.warning])
    #expect(gauge.take(self.reading(21_000_000, 92_000), hasFired: true) == [.warning, .critical])
    #expect(gauge.take(self.reading(21_000_000, 92_000), hasFired: true) == [.warning])
  }

  @Test func whatCannotBeReadIsNoStall() {
    var gauge = StallGauge()
    #expect(gauge.take(nil, hasFired: true) == [.warning])
    #expect(gauge.deadline == nil)
    #expect(gauge.take(self.reading(9_000_000, 100), hasFired: true) == [.warning])
    #expect(gauge.take(nil, hasFired: false) == [])
  }
}
