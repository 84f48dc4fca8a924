import Foundation
import Testing

@testable import Query

/// Dates as servers write them.
@Suite struct HTTPDateTests {
  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
    ("Thu, 31 Dec 2026 23:59:60 GMT", 1_798_761_600),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Thursday, 31-Dec-26 23:59:60 GMT", 1_798_761_600),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Thu Dec 31 23:59:60 2026", 1_798_761_600),
  ])
  func whatServersWrite(text: String, seconds: Int) {
    #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: Double(seconds)))
  }

  @Test func itIsWhatFoundationReads() throws {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    for day in stride(from: 0, to: 366 * 60, by: 17) {
      let date = Date(timeIntervalSince1970: Double(day * 86_400 + day % 86_400))
      #expect(HTTPDate.parse(formatter.string(from: date)) == date)
    }
  }

  @Test(arguments: [
    "", "120", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
    "Sun, 31 Jun 2026 08:49:37 GMT", "Sun, 29 Feb 2026 08:49:37 GMT",
    "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 nov 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
    "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 +8:49:37 GMT",
    "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
    "Sunday, 06-Nov 08:49:37 GMT", "Sunday, 29-Feb-26 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
    "Sun Nov  06 08:49:37 1994", "Sun, Nov  6 08:49:37 1994", "Sun Nov  6 08:49:37 94",
  ])
  func whatIsNoDate(text: String) { #expect(HTTPDate.parse(text) == nil) }
}
