import Foundation
import FoundationNetworking
import Query
import TestSupport
import Testing

@testable import QueryHTTP

/// What one attempt sends, and makes of the answer.
@Suite(.serialized) struct HTTPMutationTests {
  private func send(
    _ request: HTTPRequestDescription, _ mutation: HTTPMutation = HTTPMutation()
  ) async throws -> HTTPResponseDescription {
    try await mutation.mutate(
      with: request, in: QueryContext(), with: QueryContinuation { _, _ in })
  }

  private func error(
    _ answer: LoopbackServer.Answer, timeout: Duration = .seconds(60)
  ) async throws -> (any Error)? {
    let server = try LoopbackServer { _, _ in answer }
    do {
      let request = try HTTPRequestDescription(url: server.url, body: .data(Data("x".utf8)))
      _ = try await self.send(request, HTTPMutation(timeout: timeout))
      return nil
    } catch {
      return error
    }
  }

  private func code(_ error: (any Error)?) -> Int? { (error as? URLError)?.code.rawValue }

  @Test func requestIsSentAsDescribed() async throws {
    let server = try LoopbackServer { _, _ in
      .status(201, headers: ["Location": "/notes/3", "Set-Cookie": "a=b"], body: "made")
    }
    let request = try HTTPRequestDescription(
      method: "PUT", url: server.url.appending(queryItems: [URLQueryItem(name: "a", value: "1")]),
      headers: ["Content-Type": "text/plain", "If-Match": "\"3\""], body: .data(Data("note".utf8)))
    let answer = try await self.send(request)
    #expect(
      answer
        == HTTPResponseDescription(
          status: 201, headers: ["location": "/notes/3"], body: Data("made".utf8)))
    let received = try #require(await server.requests.wait(forCount: 1).first)
    #expect(received.line == "PUT /notes?a=1 HTTP/1.1")
    #expect(received.headers["content-type"] == "text/plain")
    #expect(received.headers["if-match"] == "\"3\"")
    #expect(received.body == Array("note".utf8))
  }

  @Test func fileIsSent() async throws {
    let folder = try ScratchFolder()
    let data = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
    let file = try folder.file("photo", data)
    let server = try LoopbackServer { _, _ in .status(204) }
    let request = try HTTPRequestDescription(method: "PUT", url: server.url, body: .file(file))
    #expect(try await self.send(request).status == 204)
    let received = try #require(await server.requests.wait(forCount: 1).first)
    #expect(received.body == Array(data))
  }

  @Test func onlyTheBeginningOfALongAnswerIsKept() async throws {
    let text = String(repeating: "0123456789", count: 100_000)
    let server = try LoopbackServer { _, _ in .status(200, body: text) }
    for (limit, wasTruncated) in [(10, true), (100_000, true), (1_000_000, false), (0, true)] {
      let request = try HTTPRequestDescription(url: server.url, responseLimit: limit)
      let answer = try await self.send(request)
      #expect(answer.body == Data(text.utf8.prefix(limit)))
      #expect(answer.wasTruncated == wasTruncated)
    }
  }

  @Test func otherStatusesAreErrorsWithTheirWait() async throws {
    let answer = LoopbackServer.Answer.status(503, headers: ["Retry-After": "7"], body: "busy")
    let error = try await self.error(answer) as? HTTPStatusError
    #expect(
      error
        == HTTPStatusError(
          statusCode: 503, retryAfter: .seconds(7), body: Data("busy".utf8)))
  }

  @Test func requestSaysWhichStatusesItAccepts() async throws {
    let server = try LoopbackServer { _, _ in .status(410) }
    let request = try HTTPRequestDescription(
      method: "DELETE", url: server.url, acceptedStatuses: [200...299, 410...410])
    #expect(try await self.send(request).status == 410)
  }

  @Test func lostAnswersAreErrorsOfTheConnection() async throws {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"
    for raw in ["", "garbage\r\n\r\n", cut] {
      let error = try await self.error(.raw(raw))
      #expect(error is URLError, "\(raw)")
    }
    let error = try await self.error(.silence, timeout: .seconds(1))
    #expect(self.code(error) == NSURLErrorTimedOut)
  }

  @Test func slowAnswerEndsAtTheTimeLimit() async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n"
    let server = try LoopbackServer { _, _ in
      .drops(head + String(repeating: "x", count: 10_000))
    }
    let request = try HTTPRequestDescription(url: server.url)
    let error = await #expect(throws: URLError.self) {
      try await self.send(request, HTTPMutation(timeLimit: .seconds(1)))
    }
    #expect(error?.code == .timedOut)
  }

  @Test func lostAnswerIsNoticedAtOnceWhateverConnectionsWereKept() async throws {
    let server = try LoopbackServer(keepsConnections: true) { _, number in
      number.isMultiple(of: 3) ? .raw("") : .status(200)
    }
    let mutation = HTTPMutation(timeout: .seconds(20))
    for number in 1...12 {
      // Some have no body, and leave a connection that could be used again.
      let body: HTTPRequestBody = number % 3 == 2 ? .none : .data(Data("x".utf8))
      let request = try HTTPRequestDescription(url: server.url, body: body)
      do {
        _ = try await self.send(request, mutation)
        #expect(!number.isMultiple(of: 3))
      } catch let error as URLError {
        #expect(number.isMultiple(of: 3))
        #expect(error.code != .timedOut)
      }
    }
    #expect(server.requests.count == 12)
  }

  @Test func cancellingEndsTheRequest() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    let request = try HTTPRequestDescription(url: server.url)
    let task = Task { try await self.send(request) }
    await server.requests.wait(forCount: 1)
    task.cancel()
    let error = await #expect(throws: URLError.self) { try await task.value }
    #expect(error?.code == .cancelled)
  }

  @Test func cancelledTaskSendsNothing() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    let request = try HTTPRequestDescription(url: server.url)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await self.send(request)
    }
    let error = await #expect(throws: URLError.self) { try await task.value }
    #expect(error?.code == .cancelled)
  }
}

// MARK: - Credentials and redirects

extension HTTPMutationTests {
  private func credentials(for urls: URL...) -> HTTPMutation {
    let credential = HTTPCredential(for: urls) { ["Authorization": "Bearer secret"] }
    return HTTPMutation(credentials: HTTPCredentials(["api": credential]))
  }

  @Test func credentialIsLookedUpWhenTheRequestIsSent() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let request = try HTTPRequestDescription(url: server.url, credential: "api")
    _ = try await self.send(request, self.credentials(for: server.url))
    let received = try #require(await server.requests.wait(forCount: 1).first)
    #expect(received.headers["authorization"] == "Bearer secret")
  }

  @Test func missingAndForeignCredentialsSendNothing() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let other = try #require(URL(string: "http://localhost/"))
    let request = try HTTPRequestDescription(url: server.url, credential: "api")
    let origin = try #require(HTTPOrigin(server.url))
    await #expect(throws: HTTPCredentialError.unknown(name: "api")) {
      try await self.send(request)
    }
    await #expect(throws: HTTPCredentialError.notFor(name: "api", origin: origin)) {
      try await self.send(request, self.credentials(for: other))
    }
    #expect(server.requests.count == 0)
  }

  @Test func redirectWithinTheOriginKeepsAll() async throws {
    let server = try LoopbackServer { request, _ in
      request.line.contains("/there") ? .status(200) : .status(307, headers: ["Location": "/there"])
    }
    let request = try HTTPRequestDescription(
      url: server.url, headers: ["Content-Type": "a/b"], body: .data(Data("x".utf8)),
      credential: "api")
    #expect(try await self.send(request, self.credentials(for: server.url)).status == 200)
    let received = await server.requests.wait(forCount: 2)
    #expect(received.map(\.line) == ["POST /notes HTTP/1.1", "POST /there HTTP/1.1"])
    #expect(received.allSatisfy { $0.headers["authorization"] == "Bearer secret" })
    #expect(received.allSatisfy { $0.body == Array("x".utf8) })
  }

  @Test(arguments: [302, 303, 307, 308])
  func writeIsNotSentToAnotherOrigin(_ status: Int) async throws {
    let other = try LoopbackServer { _, _ in .status(200) }
    let target = other.url.absoluteString
    let server = try LoopbackServer { _, _ in .status(status, headers: ["Location": target]) }
    let request = try HTTPRequestDescription(
      url: server.url, body: .data(Data("x".utf8)), credential: "api")
    let mutation = self.credentials(for: server.url, other.url)
    await #expect(throws: HTTPForeignAnswerError.otherOrigin(other.root)) {
      try await self.send(request, mutation)
    }
    #expect(other.requests.count == 0)
  }

  @Test func readAtAnotherOriginLosesTheCredentials() async throws {
    let other = try LoopbackServer { _, _ in .status(200) }
    let target = other.url.absoluteString
    let server = try LoopbackServer { _, _ in .status(308, headers: ["Location": target]) }
    let request = try HTTPRequestDescription(method: "GET", url: server.url, credential: "api")
    let mutation = self.credentials(for: server.url, other.url)
    #expect(try await self.send(request, mutation).status == 200)
    let received = try #require(await other.requests.wait(forCount: 1).first)
    #expect(received.headers["authorization"] == nil)
  }

  @Test func movedChangeIsAnErrorAndNotARead() async throws {
    let error = try await self.error(.status(301, headers: ["Location": "/there"]))
    #expect((error as? HTTPStatusError)?.statusCode == 301)
  }

  @Test func seeOtherIsReadWithoutTheBody() async throws {
    let server = try LoopbackServer { request, _ in
      request.method == "GET"
        ? .status(200, body: "result") : .status(303, headers: ["Location": "/result"])
    }
    let request = try HTTPRequestDescription(url: server.url, body: .data(Data("x".utf8)))
    #expect(try await self.send(request).body == Data("result".utf8))
    let received = await server.requests.wait(forCount: 2)
    #expect(received.map(\.line) == ["POST /notes HTTP/1.1", "GET /result HTTP/1.1"])
    #expect(received[1].body == [])
  }

  @Test func redirectsWithoutAnEndAreGivenUp() async throws {
    let server = try LoopbackServer { _, _ in .status(307, headers: ["Location": "/again"]) }
    let request = try HTTPRequestDescription(url: server.url)
    let error = await #expect(throws: HTTPStatusError.self) { try await self.send(request) }
    #expect(error?.statusCode == 307)
    #expect(await server.requests.wait(forCount: 11).count == 11)
  }
}
