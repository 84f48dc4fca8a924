import Foundation
import Query
import Testing

@testable import QueryHTTP

@Suite struct URLNormalisedTests {
  @Test(arguments: [
    ("HTTP://Example.ORG", "http://example.org/"),
    ("http://example.org:80/a", "http://example.org/a"),
    ("https://example.org:443/a?b=c", "https://example.org/a?b=c"),
    ("https://example.org:80/", "https://example.org:80/"),
    ("http://example.org/a/./b/../c", "http://example.org/a/c"),
    ("http://example.org/../a/..", "http://example.org/"),
    ("http://example.org/%7ea%2fb%c3%a4", "http://example.org/~a%2Fb%C3%A4"),
    ("http://example.org/a?x=%41%20&b", "http://example.org/a?x=A%20&b"),
    ("http://name:word@example.org/a#part", "http://example.org/a"),
    ("http://example.org/a?b=2&a=1", "http://example.org/a?b=2&a=1"),
    ("http://example.org/a//b/", "http://example.org/a//b/"),
    ("http://[::1]:8080/a", "http://[::1]:8080/a"),
  ])
  func allSpellingsAreOne(_ text: String, _ normal: String) throws {
    let url = try #require(URL(string: text))
    #expect(url.normalisedForHTTP == normal)
    #expect(try #require(URL(string: normal)).normalisedForHTTP == normal)
  }

  @Test func pathOfAQuerySaysWhatItAsksFor() throws {
    let url = try #require(URL(string: "HTTP://Example.org/notes"))
    let query = HTTPQuery(
      url, headers: ["Prefer": "b", "Accept": "a"], credential: "api", as: String.self)
    #expect(
      query.path == [
        "http", "GET", "http://example.org/notes", ["accept: a", "prefer: b"], "api",
      ])
    let plain = HTTPQuery(url, as: String.self)
    #expect(plain.path == ["http", "GET", "http://example.org/notes", [String](), ""])
  }
}
