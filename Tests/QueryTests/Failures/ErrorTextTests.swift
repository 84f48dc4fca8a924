import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import Query

/// What is kept of an error: domain, code and one sentence, and nothing that it holds besides.
@Suite struct ErrorTextTests {
  private struct Spoken: LocalizedError {
    var errorDescription: String? { "See https://anna:secret@example.org/a?key=secret#secret now." }
  }

  private struct Holder: Error {
    let url = "https://example.org/?key=secret"
    let body = Data("secret".utf8)
  }

  private enum Choice: Error {
    case plain
    case refused(body: String)
  }

  private final class Held: Error, Sendable {
    let header = "secret"
  }

  @Test(arguments: [
    ("a", "a"), ("", ""), ("://", "://"), ("http://", "http://"),
    ("http://a.b/c", "http://a.b/c"),
    ("http://a.b/c?d=e", "http://a.b/c?…"),
    ("http://a.b?d=e", "http://a.b?…"),
    ("http://a.b#e", "http://a.b?…"),
    ("http://u:p@a.b/c@d", "http://a.b/c@d"),
    ("x http://u@a?b 'https://c/?d' y ftp://e?f", "x http://a?… 'https://c/?…' y ftp://e?…"),
    ("<http://a/?b>(http://c/?d,e)", "<http://a/?…>(http://c/?…)"),
    ("http://a/?b=http://u:p@c/?d", "http://a/?…"),
    ("http://a/U('x')?t=s failed", "http://a/U('x')?… failed"),
    ("'http://a/U('x')?t=s' failed", "'http://a/U('x')?…' failed"),
    ("(http://a/U(x)?t=s) failed", "(http://a/U(x)?…) failed"),
    ("http://[::1]:80/a?t=s", "http://[::1]:80/a?…"),
    ("[http://[::1]?t=s] {http://a/{b}?t=s}", "[http://[::1]?…] {http://a/{b}?…}"),
    ("https://u:p'q@a/b", "https://a/b"),
    ("https://u:p)q@a/b", "https://a/b"),
    ("https://a/b?\u{301}t=s", "https://a/b?…"),
    ("https://u:p@\u{301}a/b", "https://\u{301}a/b"),
  ])
  func secretPartsOfURLsAreLeftOut(_ text: String, _ shown: String) {
    #expect(ErrorText.withoutSecrets(text) == shown)
  }

  @Test func anErrorOfURLLoadingIsItsCodeAndASentence() {
    let info: [String: Any] = [
      NSURLErrorFailingURLErrorKey: URL(string: "http://a/?key=secret") as Any,
      NSLocalizedDescriptionKey: "secret",
    ]
    let error = URLError(.cannotConnectToHost, userInfo: info)
    let text = "The host could not be reached, or refused the connection. (NSURLErrorDomain -1004)"
    #expect(ErrorText.of(error) == text)
    #expect(ErrorText.of(error as NSError) == text)
    let restored = RestoredError(error)
    #expect(restored.text == text && RestoredError(restored) == restored)
    for code in [-1, -999, -1_000, -1_001, -1_003, -1_005, -1_009, -1_011, -1_202] {
      let text = ErrorText.of(NSError(domain: NSURLErrorDomain, code: code, userInfo: info))
      #expect(text.hasSuffix(". (NSURLErrorDomain \(code))") && !text.contains("secret"))
    }
  }

  @Test func anErrorOfFoundationIsItsDomainCodeAndSentence() throws {
    let info: [String: Any] = [NSLocalizedDescriptionKey: "No room, none.", "NSKey": "secret"]
    #expect(
      ErrorText.of(NSError(domain: "D", code: 3, userInfo: info))
        == #"Error Domain=D Code=3 "No room, none.""#)
    #expect(ErrorText.of(NSError(domain: "D", code: 3)) == "Error Domain=D Code=3")
    let error = #expect(throws: (any Error).self) {
      try Data(contentsOf: URL(filePath: "/nowhere/secret"))
    }
    let text = ErrorText.of(try #require(error))
    #expect(text.hasPrefix("Error Domain=NSCocoaErrorDomain Code=260") && !text.contains("secret"))
  }

  @Test func whatAnAuthorWroteIsTaken() {
    #expect(ErrorText.of(Spoken()) == "See https://example.org/a?… now.")
    #expect(ErrorText.of(TestError("a")) == "TestError(a)")
    let long = TestError(String(repeating: "a", count: 10_000))
    #expect(ErrorText.of(long).count == ErrorText.maximumLength)
  }

  @Test func ofOthersTheirNames() {
    #expect(ErrorText.of(Holder()) == "ErrorTextTests.Holder")
    #expect(ErrorText.of(Held()) == "ErrorTextTests.Held")
    #expect(ErrorText.of(Choice.plain) == "plain")
    #expect(ErrorText.of(Choice.refused(body: "secret")) == "refused")
    #expect(ErrorText.of(CancellationError()) == "CancellationError")
  }

  @Test func anErrorOfCodingSaysWhere() throws {
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([String: [Int]].self, from: Data(#"{"a": ["secret"]}"#.utf8))
    }
    let text = ErrorText.of(try #require(error))
    #expect(text.contains("[0]") && text.contains("Int") && !text.contains("secret"))
  }

  @Test func whatIsPrintedOfAMutationIsNoMore() {
    let error = MutationAppliedError(underlying: Holder())
    #expect(error.description.hasSuffix(": ErrorTextTests.Holder"))
  }
}
