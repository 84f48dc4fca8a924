import Foundation
import TestSupport
import Testing

@testable import QueryReplayCommand

/// Requests over sockets, and what is made of answers.
struct SocketTransportTests {
  private func request(_ url: URL) -> CheckRequest {
    CheckRequest(
      method: "POST", url: url, headers: [CheckHeader("Idempotency-Key", "k")], body: Data("b".utf8)
    )
  }

  private func answer(_ raw: String) async throws -> CheckOutcome {
    let server = try LoopbackServer { _, _ in .raw(raw) }
    return await SocketTransport().outcomes(of: [self.request(server.url)])[0]
  }

  @Test func theValueOfAHeaderMayBeginWithAMark() {
    let header = CheckHeader(line: "X-Name:\u{301}a")
    #expect(header?.name == "X-Name")
    #expect(header?.value == "\u{301}a")
    #expect(CheckHeader(line: "no header") == nil)
  }

  @Test func whatIsSentIsARequest() async throws {
    let server = try LoopbackServer(body: "{}")
    let url = try #require(URL(string: "\(server.root)/a%20b?c=d"))
    let outcome = await SocketTransport().outcomes(of: [self.request(url)])[0]
    #expect(outcome.answer?.status == 200)
    let request = try #require(server.requests.elements.first)
    #expect(request.line == "POST /a%20b?c=d HTTP/1.1")
    #expect(request.headers["idempotency-key"] == "k")
    #expect(request.headers["host"] == "127.0.0.1:\(server.url.port ?? 0)")
    #expect(request.body == Array("b".utf8))
  }

  @Test(arguments: [
    "HTTP/1.1 201 Created\r\ncontent-LENGTH: 2\r\n\r\nhi and more",
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\n\r\n",
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1 ;\u{301}\r\nh\r\n1\r\ni\r\n0\r\n\r\n",
    "HTTP/1.1 201 \u{301}C\r\nX:\u{301}a\r\nContent-Length: 2\r\n\r\nhi",
    "HTTP/1.1 201 Created\r\n\r\nhi",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nhi",
  ])
  func anAnswerIsReadInEachOfItsForms(_ raw: String) async throws {
    let answer = try #require(try await self.answer(raw).answer)
    #expect(answer.status == 201)
    #expect(String(decoding: answer.body, as: UTF8.self) == "hi")
  }

  @Test(arguments: [
    "", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nhi",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
    "HTTP/1.1 200 OK\r\nno header\r\n\r\n",
  ])
  func whatIsCutOffOrNoAnswerIsNone(_ raw: String) async throws {
    guard case .unanswered = try await self.answer(raw) else {
      Issue.record("\(raw) is an answer")
      return
    }
  }

  @Test func severalArriveBeforeOneIsAnswered() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _, number in
      // The last one that arrives lets all be answered: one that waited for another would hang.
      if number == 8 { gate.open() }
      return .afterGate(gate, .status(200))
    }
    let requests = Array(repeating: self.request(server.url), count: 8)
    let outcomes = await SocketTransport().outcomes(of: requests)
    #expect(outcomes.compactMap(\.answer?.status) == Array(repeating: 200, count: 8))
  }

  @Test func aRequestIsAbandonedOnceTheServerCanHaveIt() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    #expect(await SocketTransport().abandon(self.request(server.url)) == nil)
    let requests = await server.requests.wait(forCount: 1)
    #expect(requests.first?.body == Array("b".utf8))
  }

  @Test func whereNobodyListensNothingIsSent() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:1/"))
    guard case .unreached = await SocketTransport().outcomes(of: [self.request(url)])[0] else {
      Issue.record("it was reached")
      return
    }
    #expect(await SocketTransport().abandon(self.request(url)) != nil)
  }
}
