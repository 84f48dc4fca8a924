import Foundation
import Query
import Testing

@Suite struct HTTPStatusErrorTests {
  // Sun, 06 Nov 1994 08:49:37 GMT
  private let now = Date(timeIntervalSince1970: 784_111_777)

  @Test func secondsAreSeconds() {
    #expect(HTTPStatusError.retryAfter(header: "120", now: self.now) == .seconds(120))
    #expect(HTTPStatusError.retryAfter(header: " 0 ", now: self.now) == .zero)
  }

  @Test func aDateCountsFromNow() {
    let header = "Sun, 06 Nov 1994 08:50:37 GMT"
    #expect(HTTPStatusError.retryAfter(header: header, now: self.now) == .seconds(60))
  }

  /// A field that came twice.
  @Test(arguments: [
    ("2, 2", 2), ("1, 60", 60), ("60,1", 60), ("soon, 2", 2),
    ("2, Sun, 06 Nov 1994 08:50:37 GMT", 2),
  ])
  func theLongestOfSeveralIsWaited(_ header: String, _ seconds: Int) {
    #expect(HTTPStatusError.retryAfter(header: header, now: self.now) == .seconds(seconds))
  }

  @Test func noWaitIsLongerThanADay() {
    let day = Duration.seconds(86_400)
    for header in ["86401", "99999999999999999999999", "Sun, 06 Nov 2094 08:49:37 GMT"] {
      #expect(HTTPStatusError.retryAfter(header: header, now: self.now) == day)
    }
  }

  @Test(arguments: ["", "-1", "1.5", "soon", "٣", "Sun, 06 Nov 1994 08:48:37 GMT"])
  func whatIsNoWaitIsNone(_ header: String) {
    #expect(HTTPStatusError.retryAfter(header: header, now: self.now) == nil)
  }

  @Test func theBodyIsNotShown() {
    let error = HTTPStatusError(statusCode: 503, body: Data("secret".utf8))
    #expect(!"\(error)".contains("secret"))
    #expect("\(error)".contains("503"))
  }
}
