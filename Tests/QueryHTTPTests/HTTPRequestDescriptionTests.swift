import Foundation
import Testing

@testable import QueryHTTP

@Suite struct HTTPRequestDescriptionTests {
  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test(arguments: [
    "Authorization", "authorization", "Cookie", "Proxy-Authorization", "X-Api-Key",
    "Idempotency-Key",
    "Host", "Content-Length", "Transfer-Encoding", "Set-Cookie",
  ])
  func headersThatMayHoldSecretsAreRefused(_ name: String) throws {
    let url = try self.url("https://example.org/notes")
    #expect(throws: HTTPRequestError.headerNotAllowed(name)) {
      try HTTPRequestDescription(url: url, headers: [name: "x"])
    }
  }

  @Test(arguments: ["ftp://example.org/", "file:///etc/passwd", "notes", "http:///notes", "data:x"])
  func onlyHTTPWithAHostIsTaken(_ text: String) throws {
    let url = try self.url(text)
    #expect(throws: HTTPRequestError.badURL(url.absoluteURL.absoluteString)) {
      try HTTPRequestDescription(url: url)
    }
  }

  @Test func passwordInTheURLIsRefused() throws {
    let url = try self.url("https://blob:secret@example.org/")
    #expect(throws: HTTPRequestError.secretInURL) { try HTTPRequestDescription(url: url) }
  }

  @Test(arguments: ["", "post", "PO ST", "GET\r\n"])
  func onlyMethodsAreTaken(_ method: String) throws {
    let url = try self.url("https://example.org/")
    #expect(throws: HTTPRequestError.badMethod(method)) {
      try HTTPRequestDescription(method: method, url: url)
    }
  }

  @Test func headerCannotSmuggleAnotherOneIn() throws {
    let url = try self.url("https://example.org/")
    #expect(throws: HTTPRequestError.badHeaderValue("Accept")) {
      try HTTPRequestDescription(url: url, headers: ["Accept": "a\r\nCookie: b"])
    }
  }

  @Test func writtenRequestComesBackAsItWas() throws {
    let url = try self.url("https://example.org/notes?id=3")
    let file = HTTPRequestBody.file(URL(filePath: "/tmp/a b%20c", directoryHint: .notDirectory))
    let bodies: [HTTPRequestBody] = [.none, .data(Data([0, 1, 255])), file]
    for body in bodies {
      let request = try HTTPRequestDescription(
        method: "PATCH", url: url, headers: ["content-type": "text/plain"], body: body,
        acceptedStatuses: [200...204, 410...410], responseLimit: 7, credential: "api",
        expects: HTTPExpectation(contentTypes: ["text/"], headers: ["Server"], echoesKey: true))
      let data = try JSONEncoder().encode(request)
      #expect(try JSONDecoder().decode(HTTPRequestDescription.self, from: data) == request)
    }
  }

  @Test func requestOfAnEarlierVersionIsRead() throws {
    let request = try HTTPRequestDescription(url: self.url("https://example.org/"))
    let data = try JSONEncoder().encode(request)
    #expect(!String(decoding: data, as: UTF8.self).contains("expects"))
    #expect(try JSONDecoder().decode(HTTPRequestDescription.self, from: data) == request)
  }

  @Test func whatAFileSaysIsNotBelieved() throws {
    let request = try HTTPRequestDescription(
      url: self.url("https://example.org/"), headers: ["Accept": "x"])
    let text = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
    for changed in [
      text.replacing("\"Accept\"", with: "\"Cookie\""),
      text.replacing("https", with: "file"),
    ] {
      #expect(changed != text)
      #expect(throws: HTTPRequestError.self) {
        try JSONDecoder().decode(HTTPRequestDescription.self, from: Data(changed.utf8))
      }
    }
  }
}
