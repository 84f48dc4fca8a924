import Foundation
import Testing

@testable import QueryHTTP

@Suite struct HTTPFreshnessTests {
  private func freshness(_ headers: [String: String]) -> HTTPFreshness {
    // 2009-02-13 23:31:30 UTC
    HTTPFreshness(headers, now: Date(timeIntervalSince1970: 1_234_567_890))
  }

  @Test(arguments: [
    ("max-age=60", 60.0), ("public, Max-Age=60, must-revalidate", 60), ("max-age=\"60\"", 60),
    ("max-age=0", 0), ("max-age=soon", 0), ("max-age=-5", 0), ("no-cache", 0),
    ("no-cache=\"a, max-age=7\", max-age=60", 0), ("no-store", 0), ("max-age=60, max-age=1", 60),
  ])
  func cacheControlCounts(_ header: String, _ seconds: Double) {
    #expect(self.freshness(["cache-control": header]).lifetime == .seconds(seconds))
  }

  @Test func nothingIsSaid() {
    for headers in [[:], ["cache-control": "public"], ["cache-control": ",,="], ["age": "3"]] {
      #expect(self.freshness(headers) == HTTPFreshness([:], now: .distantPast))
      #expect(self.freshness(headers).lifetime == nil)
    }
  }

  @Test func ageIsTakenOff() {
    let header = ["cache-control": "max-age=60"]
    for (age, seconds) in [("20", 40.0), ("70", 0), ("old", 60)] {
      let headers = header.merging(["age": age]) { $1 }
      #expect(self.freshness(headers).lifetime == .seconds(seconds))
    }
    #expect(
      self.freshness(["cache-control": "max-age=99999999999999999999"]).lifetime
        == .seconds(100 * 366 * 86_400))
  }

  @Test func aDateCountsForADayAtMost() {
    let minute = "Fri, 13 Feb 2009 23:32:30 GMT"
    #expect(self.freshness(["expires": minute]).lifetime == .seconds(60))
    #expect(
      self.freshness(["expires": minute, "date": "Fri, 13 Feb 2009 23:32:20 GMT"]).lifetime
        == .seconds(10))
    #expect(
      self.freshness(["expires": "Fri, 13 Feb 2032 23:32:30 GMT"]).lifetime == .seconds(86_400))
    for past in ["0", "Fri, 13 Feb 2004 23:32:30 GMT", ""] {
      #expect(self.freshness(["expires": past]).lifetime == .zero)
    }
    #expect(
      self.freshness(["expires": minute, "cache-control": "max-age=5"]).lifetime == .seconds(5))
  }

  @Test func whatMustNotBeStoredIsSaidInAnyCase() {
    #expect(self.freshness(["cache-control": "NO-STORE"]).isUnstorable)
    #expect(!self.freshness(["cache-control": "x=\"no-store\""]).isUnstorable)
  }
}
