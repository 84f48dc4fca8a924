import Foundation
import TestSupport
import Testing

@testable import QueryReplayCommand

/// Requests by what speaks TLS, here without it.
struct TLSTransportTests {
  private func request(_ url: URL, _ number: Int = 0) -> CheckRequest {
    CheckRequest(
      method: "POST", url: url, headers: [CheckHeader("Idempotency-Key", "k\(number)")],
      body: Data("b".utf8))
  }

  @Test func anAnswerIsWhatTheServerSaidAndNoRedirectIsFollowed() async throws {
    let server = try LoopbackServer { _, _ in
      .status(307, headers: ["Location": "/elsewhere", "ETag": "x"], body: "body")
    }
    let outcome = await TLSTransport().outcomes(of: [self.request(server.url)])[0]
    let answer = try #require(outcome.answer)
    #expect(answer.status == 307)
    #expect(answer.headers["etag"] == "x")
    #expect(server.requests.count == 1)
    #expect(server.requests.elements.first?.headers["idempotency-key"] == "k0")
    #expect(server.requests.elements.first?.body == Array("b".utf8))
  }

  @Test func severalAreUnderWayAtOnceAndKeepTheirPlaces() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request, number in
      if number == 8 { gate.open() }
      return .afterGate(gate, .status(200, body: request.headers["idempotency-key"] ?? ""))
    }
    let requests = (0..<8).map { self.request(server.url, $0) }
    let outcomes = await TLSTransport().outcomes(of: requests)
    let bodies = outcomes.map { String(decoding: $0.answer?.body ?? Data(), as: UTF8.self) }
    #expect(bodies == (0..<8).map { "k\($0)" })
  }

  @Test func whereNobodyListensItIsUnreached() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:1/"))
    guard case .unreached = await TLSTransport().outcomes(of: [self.request(url)])[0] else {
      Issue.record("it was reached")
      return
    }
  }

  @Test func aRequestIsAbandonedOnceTheServerCanHaveIt() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    #expect(await TLSTransport().abandon(self.request(server.url)) == nil)
    let requests = await server.requests.wait(forCount: 1)
    #expect(requests.first?.body == Array("b".utf8))
    let url = try #require(URL(string: "http://127.0.0.1:1/"))
    #expect(await TLSTransport().abandon(self.request(url)) != nil)
  }
}
