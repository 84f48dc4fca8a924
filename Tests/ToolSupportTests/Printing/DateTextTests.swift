import Foundation
import Testing
import ToolSupport

struct DateTextTests {
  private let date = Date(timeIntervalSince1970: 1_700_000_000.25)

  @Test func aMomentIsShownWithTheOffsetOfItsZone() throws {
    #expect(DateText(isUTC: true).text(self.date) == "2023-11-14T22:13:20Z")
    let berlin = try #require(TimeZone(secondsFromGMT: 3_600))
    #expect(DateText(berlin).text(self.date) == "2023-11-14T23:13:20+01:00")
    let newfoundland = try #require(TimeZone(secondsFromGMT: -12_600))
    #expect(DateText(newfoundland).text(self.date) == "2023-11-14T18:43:20-03:30")
  }

  @Test func theExactFormHasMicrosecondsInUTC() {
    #expect(DateText.exact(self.date) == "2023-11-14T22:13:20.250000Z")
    #expect(DateText.exact(Date(timeIntervalSince1970: 0)) == "1970-01-01T00:00:00.000000Z")
    #expect(DateText.exact(Date(timeIntervalSince1970: -0.25)) == "1969-12-31T23:59:59.750000Z")
    #expect(
      DateText.exact(Date(timeIntervalSince1970: 1_700_000_000.000_001))
        == "2023-11-14T22:13:20.000001Z")
  }

  @Test func aDateThatNoCalendarTextHasIsItsNumber() {
    #expect(DateText.exact(Date(timeIntervalSince1970: 1e12)) == "1000000000000000000 µs")
    #expect(DateText.exact(Date(timeIntervalSince1970: -1e300)) == "\(Int64.min) µs")
  }
}
