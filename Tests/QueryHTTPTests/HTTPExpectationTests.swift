import Foundation
import FoundationNetworking
import Query
import TestSupport
import Testing

@testable import QueryHTTP

@Suite struct HTTPExpectationTests {
  private let headers = ["content-type": "Application/JSON; charset=utf-8", "server": "notes"]

  @Test func anythingIsExpectedUnlessSaid() throws {
    try HTTPExpectation().check(headers: [:], key: "1")
  }

  @Test func contentTypeGoesByItsBeginning() throws {
    try HTTPExpectation(contentTypes: ["text/plain", "application/json"])
      .check(headers: self.headers, key: nil)
    let html = HTTPExpectation(contentTypes: ["text/"])
    #expect(throws: HTTPForeignAnswerError.contentType(self.headers["content-type"])) {
      try html.check(headers: self.headers, key: nil)
    }
    #expect(throws: HTTPForeignAnswerError.contentType(nil)) {
      try html.check(headers: [:], key: nil)
    }
  }

  @Test func headersAreThere() throws {
    try HTTPExpectation(headers: ["Server"]).check(headers: self.headers, key: nil)
    #expect(throws: HTTPForeignAnswerError.missingHeader("ETag")) {
      try HTTPExpectation(headers: ["Server", "ETag"]).check(headers: self.headers, key: nil)
    }
  }

  @Test func keyIsRepeated() throws {
    let expectation = HTTPExpectation(echoesKey: true)
    try expectation.check(headers: ["idempotency-key": "1"], key: "1")
    for headers in [["idempotency-key": "2"], [:]] {
      #expect(throws: HTTPForeignAnswerError.missingKey) {
        try expectation.check(headers: headers, key: "1")
      }
    }
  }

  @Test func mutationWithCodeOfItsOwnChecksItsAnswer() async throws {
    let portal = try LoopbackServer { _, _ in .status(200, body: "Please log in") }
    let target = portal.url.absoluteString
    let server = try LoopbackServer { request, number in
      number == 1
        ? .status(302, headers: ["Location": target])
        : .status(
          200, headers: ["Idempotency-Key": request.headers["idempotency-key"] ?? ""])
    }
    var request = URLRequest(url: server.url)
    request.httpMethod = "POST"
    request.setValue("1", forHTTPHeaderField: "Idempotency-Key")
    // URLSession follows the redirect, and reports success.
    let (_, foreign) = try await URLSession.shared.data(for: request)
    #expect(throws: HTTPForeignAnswerError.otherOrigin(portal.root)) {
      try HTTPExpectation().check(foreign, to: request)
    }
    let (_, own) = try await HTTPTransport.shared.answer(to: request)
    try HTTPExpectation(echoesKey: true).check(own, to: request)
    request.setValue("2", forHTTPHeaderField: "Idempotency-Key")
    #expect(throws: HTTPForeignAnswerError.missingKey) {
      try HTTPExpectation(echoesKey: true).check(own, to: request)
    }
  }
}
