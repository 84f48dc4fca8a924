import Foundation
import FoundationNetworking
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

  /// The ports of an upgrade are the system's, so that no server here can answer on them.
  @Test func anUpgradeToHTTPSTakesTheWriteAndNoSecretAlong() throws {
    var write = URLRequest(url: try #require(URL(string: "http://a.org/x")))
    write.httpMethod = "POST"
    write.httpBody = Data("note".utf8)
    write.setValue("7", forHTTPHeaderField: "Idempotency-Key")
    write.setValue("text/plain", forHTTPHeaderField: "Content-Type")
    write.setValue("secret", forHTTPHeaderField: "Authorization")
    func next(_ url: String, from request: URLRequest, isWhole: Bool = true) throws -> URLRequest {
      var next = URLRequest(url: try #require(URL(string: url)))
      HTTPTransport.fill(&next, from: request, isWhole: isWhole)
      return next
    }
    let upgraded = try next("https://a.org/x", from: write)
    #expect(upgraded.httpBody == Data("note".utf8))
    #expect(upgraded.allHTTPHeaderFields == ["Idempotency-Key": "7", "Content-Type": "text/plain"])
    for url in ["https://a.org:444/x", "https://b.org/x"] {
      let foreign = try next(url, from: write)
      #expect(foreign.httpBody == nil)
      #expect(foreign.allHTTPHeaderFields == ["Content-Type": "text/plain"])
    }
    let home = try next("http://a.org/y", from: write)
    #expect(home.httpBody == Data("note".utf8))
    #expect(home.allHTTPHeaderFields == write.allHTTPHeaderFields)
    // What came of a write is read without its key.
    let result = try next("http://a.org/y", from: write, isWhole: false)
    #expect(result.httpBody == nil)
    #expect(result.value(forHTTPHeaderField: "Idempotency-Key") == nil)
    #expect(result.value(forHTTPHeaderField: "Authorization") == "secret")
    var read = write
    read.httpMethod = "GET"
    #expect(try next("https://a.org/x", from: read).httpBody == nil)
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
