import Foundation
import Testing

@testable import QueryHTTP

@Suite struct HTTPRedirectTests {
  private func redirect(
    _ status: Int, _ method: String, from: String = "https://a.org/x", to location: String
  ) throws -> HTTPRedirect? {
    let answer = HTTPAnswer(status: status, headers: ["location": location])
    return try HTTPRedirect(answer, to: method, try #require(URL(string: from)))
  }

  @Test(arguments: [307, 308]) func sameRequestIsSentAgain(_ status: Int) throws {
    let redirect = try #require(try self.redirect(status, "POST", to: "/y"))
    #expect(redirect.url.absoluteString == "https://a.org/y")
    #expect(redirect.keepsBody)
    #expect(redirect.keepsCredentials)
  }

  @Test(arguments: [
    "https://b.org/y", "https://a.org:444/y", "https://A.org.evil/y", "//b.org/x",
  ])
  func readAtAnotherOriginGetsNoCredentials(_ location: String) throws {
    let redirect = try #require(try self.redirect(307, "GET", to: location))
    #expect(!redirect.keepsCredentials)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func writeIsNotSentToAnotherOrigin(_ status: Int) throws {
    for location in ["https://b.org/y", "//a.org:444/y", "file:///etc/passwd", "http://a.org/x"] {
      #expect(throws: HTTPForeignAnswerError.self) {
        try self.redirect(status, "PUT", to: location)
      }
    }
    let upgrade = try self.redirect(308, "PUT", from: "http://a.org/x", to: "https://a.org/x")
    #expect(upgrade?.keepsBody == true && upgrade?.keepsCredentials == false)
    for (origin, location) in [
      ("http://a.org/x", "https://b.org/x"), ("http://a.org/x", "https://a.org:444/x"),
      ("http://a.org:81/x", "https://a.org/x"),
    ] {
      #expect(throws: HTTPForeignAnswerError.self) {
        try self.redirect(status, "PUT", from: origin, to: location)
      }
    }
  }

  @Test func sameOriginMayBeWrittenInOtherWays() throws {
    let redirect = try #require(try self.redirect(308, "PUT", to: "HTTPS://A.ORG:443/y"))
    #expect(redirect.keepsCredentials)
  }

  @Test func seeOtherIsReadWithoutTheBody() throws {
    let redirect = try #require(try self.redirect(303, "POST", to: "/y"))
    #expect(!redirect.keepsBody)
  }

  @Test(arguments: [301, 302]) func changeIsNotTurnedIntoARead(_ status: Int) throws {
    #expect(try self.redirect(status, "POST", to: "/y") == nil)
    #expect(try self.redirect(status, "GET", to: "/y") != nil)
  }

  @Test func nothingGoesFromHTTPSToHTTP() throws {
    #expect(try self.redirect(307, "GET", to: "http://a.org/x") == nil)
    #expect(try self.redirect(307, "GET", from: "http://a.org/x", to: "https://a.org/x") != nil)
  }

  @Test(arguments: [200, 300, 304, 305, 404]) func otherStatusesAreAnswers(_ status: Int) throws {
    #expect(try self.redirect(status, "GET", to: "/y") == nil)
  }

  @Test(arguments: ["file:///etc/passwd", "ftp://b.org/", "https://u:p@a.org/", "mailto:x"])
  func onlyPlainHTTPIsFollowed(_ location: String) throws {
    #expect(try self.redirect(307, "GET", to: location) == nil)
  }
}
