import Foundation
import FoundationNetworking
import Query
import TestSupport
import Testing

@testable import QueryHTTP

/// A name or a method that is not one would make another header of what follows, or another request.
@Suite struct RequestTokensTests {
  private static let transport = HTTPTransport()

  @Test(arguments: [
    "", " ", "X Name", "X-Name:", "X-Name\r\nX-Evil", "X-N\u{e4}me", "X-Name\u{7f}", "X(Name)",
  ])
  func aHeaderOfACredentialHasAToken(_ name: String) async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let mutation = HTTPMutation(
      credentials: HTTPCredentials([
        "api": HTTPCredential(for: [server.url]) { [name: "value"] }
      ]))
    let description = try HTTPRequestDescription(url: server.url, credential: "api")
    await #expect(throws: HTTPCredentialError.badHeader(name: "api", header: name)) {
      try await mutation.mutate(
        with: description, in: QueryContext(), with: QueryContinuation { _, _ in })
    }
    #expect(server.requests.count == 0)
  }

  @Test(arguments: ["PO ST", "GET\r\nX-Evil:", "G\u{c9}T", "GET\u{7f}", "GET/", "(GET)"])
  func aMethodIsAToken(_ method: String) async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    var request = URLRequest(url: server.url)
    request.httpMethod = method
    await #expect(throws: HTTPRequestError.badMethod(method)) {
      try await Self.transport.answer(to: request)
    }
    #expect(server.requests.count == 0)
  }

  /// RFC 9110, 5.6.2.
  @Test func whatIsATokenIsSent() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    var request = URLRequest(url: server.url)
    request.httpMethod = "M-SEARCH"
    request.setValue("value", forHTTPHeaderField: "X!#$%&'*+-.^_`|~09aZ")
    _ = try await Self.transport.answer(to: request)
    let sent = try #require(server.requests.elements.first)
    #expect(sent.method == "M-SEARCH")
    #expect(sent.headers["x!#$%&'*+-.^_`|~09az"] == "value")
  }
}
