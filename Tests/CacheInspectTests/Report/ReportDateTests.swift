import Foundation
import Testing

@testable import cache_inspect

/// A moment is exact for programs and readable for people, whatever clock it came from.
@Suite struct ReportDateTests {
  @Test func theTextHasTheZonesOffset() {
    let date = ReportDate(Date(timeIntervalSince1970: 1_772_000_000), in: ReportSample.zone)
    #expect(date.text == "2026-02-25T07:13:20+01:00")
    #expect(date.plainText == "2026-02-25 07:13:20")
  }

  @Test(arguments: [
    -Double.infinity, -.greatestFiniteMagnitude, -9.3e12, .nan, 9.3e12, .greatestFiniteMagnitude,
    .infinity,
  ])
  func aClockThatWasAnywhereGivesADateOfFourDigits(seconds: Double) {
    for hours in [-12, 0, 14] {
      let zone = TimeZone(secondsFromGMT: hours * 3_600) ?? .gmt
      let date = ReportDate(Date(timeIntervalSince1970: seconds), in: zone)
      #expect(date.seconds.isFinite)
      #expect(date.text.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)/#) != nil)
    }
  }

  @Test func theJSONHasSecondsAndText() throws {
    let json = try JSONEncoder().encode(ReportSample.date(0))
    let object = try JSONSerialization.jsonObject(with: json) as? [String: Any]
    #expect(object?["seconds"] as? Double == 1_772_000_000)
    #expect(object?["text"] as? String == "2026-02-25T07:13:20+01:00")
    #expect(object?.count == 2)
  }
}
