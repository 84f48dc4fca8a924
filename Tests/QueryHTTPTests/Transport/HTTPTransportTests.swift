import Foundation
import FoundationNetworking
import Query
import TestSupport
import Testing

@testable import QueryHTTP

/// What a request of one's own comes back with.
@Suite struct HTTPTransportTests {
  private let transport = HTTPTransport.shared

  private func post(_ url: URL, _ body: String? = "x") -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = body.map { Data($0.utf8) }
    return request
  }

  @Test func theAnswerIsThatOfTheServer() async throws {
    let server = try LoopbackServer { request, _ in
      .status(201, headers: ["X-One": "1"], body: request.method)
    }
    let (data, response) = try await self.transport.answer(to: self.post(server.url))
    #expect(String(decoding: data, as: UTF8.self) == "POST")
    #expect(response.statusCode == 201)
    #expect(response.value(forHTTPHeaderField: "X-ONE") == "1")
    #expect(response.url == server.url)
    let (got, _) = try await self.transport.answer(from: server.url)
    #expect(String(decoding: got, as: UTF8.self) == "GET")
    let received = await server.requests.wait(forCount: 2)
    #expect(received[0].body == Array("x".utf8))
    #expect(received[0].headers["content-type"] == nil)
    #expect(received.allSatisfy { $0.headers["user-agent"]?.isEmpty == false })
  }

  @Test func anotherStatusIsAnErrorWithItsWaitUnlessItIsAccepted() async throws {
    let server = try LoopbackServer { _, _ in
      .status(503, headers: ["Retry-After": "7"], body: "busy")
    }
    await #expect(
      throws: HTTPStatusError(statusCode: 503, retryAfter: .seconds(7), body: Data("busy".utf8))
    ) {
      try await self.transport.answer(to: self.post(server.url))
    }
    let (data, response) = try await self.transport.answer(
      from: server.url, acceptedStatuses: [200...599])
    #expect(response.statusCode == 503)
    #expect(String(decoding: data, as: UTF8.self) == "busy")
  }

  /// Foundation ends the process for some of these.
  @Test(arguments: [
    "", "H", "HTTP/1.1", "HTTP/1.1 201", "HTTP/1.1 201 Created", "HTTP/1.1 201 Created\r\n",
    "HTTP/1.1 201 Created\r\nX: 1\r\n", "HTTP/1.1 201 Created\r\nX: 1\r\nContent-Len",
    "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhell",
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
    "HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5abc\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
      + String(repeating: "X: \(String(repeating: "x", count: 999))\r\n", count: 500) + "\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 O",
    "HTTP/1.1 abc\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\r\n\r\n", "garbage\r\n\r\n",
    "ICY 200 OK\r\n\r\n",
  ])
  func anAnswerThatBreaksOffIsAnErrorOfTheConnection(_ answer: String) async throws {
    let server = try LoopbackServer { _, _ in .raw(answer) }
    for request in [self.post(server.url), self.post(server.url, nil), URLRequest(url: server.url)]
    {
      await #expect(throws: URLError.self, "\(answer)") {
        try await self.transport.answer(to: request)
      }
    }
  }

  @Test func aHeadIsReadWhateverPrecedesAndDividesIt() async throws {
    let server = try LoopbackServer { _, _ in
      .raw(
        "HTTP/1.1 103 Early Hints\r\nLink: no\r\n\r\n"
          + "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nX-Empty:\r\nX-Folded: a\r\n b\r\n"
          + "X-Accents:\u{301}a\r\n \u{301}b\r\n\r\nbody")
    }
    let (data, response) = try await self.transport.answer(from: server.url)
    #expect(String(decoding: data, as: UTF8.self) == "body")
    #expect(response.value(forHTTPHeaderField: "x-a") == "1, 2")
    #expect(response.value(forHTTPHeaderField: "x-empty") == "")
    #expect(response.value(forHTTPHeaderField: "x-folded") == "a b")
    #expect(response.value(forHTTPHeaderField: "x-accents") == "\u{301}a \u{301}b")
    #expect(response.value(forHTTPHeaderField: "link") == nil)
  }

  /// It would be taken for the whole.
  @Test func aPartIsAnAnswerIfItWasAskedForOrTheRequestIsAWrite() async throws {
    let server = try LoopbackServer { _, _ in
      .status(206, headers: ["Content-Range": "bytes 0-2/9"], body: "par")
    }
    await #expect(throws: HTTPStatusError(statusCode: 206, body: Data("par".utf8))) {
      try await self.transport.answer(from: server.url)
    }
    var request = URLRequest(url: server.url)
    request.setValue("bytes=0-2", forHTTPHeaderField: "range")
    for request in [request, self.post(server.url)] {
      #expect(try await self.transport.answer(to: request).0 == Data("par".utf8))
    }
  }

  /// 600 bytes of text, packed.
  private static let packed = [
    "gzip": "H4sIAAAAAAACA8tIzcnJV8gYJUdJqpIA8zGiDVgCAAA=",
    "deflate": "eJzLSM3JyVfIGCVHSaqSAO3S3FE=",
    // Without its frame, as some servers send it.
    "Deflate": "y0jNyclXyBglR0mqkgA=",
  ]

  @Test(arguments: Self.packed.keys) func aPackedBodyIsUnpackedOrIsNone(_ coding: String)
    async throws
  {
    let text = String(repeating: "hello ", count: 100)
    let whole = try #require(Self.packed[coding].flatMap { Data(base64Encoded: $0) })
    let count = Locked(whole.count)
    let server = try LoopbackServer { _, _ in
      let bytes = Array((whole + whole).prefix(count.withLock { $0 }))
      return .bytes(200, headers: ["Content-Encoding": coding], bytes)
    }
    let (data, _) = try await self.transport.answer(from: server.url)
    #expect(String(decoding: data, as: UTF8.self) == text)
    let asked = await server.requests.wait(forCount: 1)[0].headers["accept-encoding"]
    #expect(asked == "gzip, deflate")
    for kept in 1..<whole.count {
      count.withLock { $0 = kept }
      await #expect(throws: URLError.self, "\(kept) of \(whole.count)") {
        try await self.transport.answer(from: server.url)
      }
    }
    // An empty one is no packed body, as the answer to HEAD; behind the end of one stands another or nothing.
    count.withLock { $0 = 0 }
    #expect(try await self.transport.answer(from: server.url).0.isEmpty)
    count.withLock { $0 = whole.count * 2 }
    let (both, _) = try await self.transport.answer(from: server.url)
    #expect(String(decoding: both, as: UTF8.self) == (coding == "gzip" ? text + text : text))
  }

  @Test func whatIsPackedMayNotBeLongerThanTheLimit() async throws {
    let packed = try #require(Self.packed["gzip"].flatMap { Data(base64Encoded: $0) })
    let server = try LoopbackServer { _, _ in
      .bytes(200, headers: ["Content-Encoding": "gzip"], Array(packed))
    }
    await #expect(throws: HTTPBodyError.self) {
      try await self.transport.answer(from: server.url, limit: 599)
    }
    #expect(try await self.transport.answer(from: server.url, limit: 600).0.count == 600)
  }

  @Test func aCodingThatWasNotAskedForIsNoAnswer() async throws {
    let server = try LoopbackServer { _, _ in
      .status(200, headers: ["Content-Encoding": "br"], body: "packed")
    }
    let error = await #expect(throws: URLError.self) {
      try await self.transport.answer(from: server.url)
    }
    #expect(error?.code == .cannotParseResponse)
    var request = URLRequest(url: server.url)
    request.setValue("br", forHTTPHeaderField: "Accept-Encoding")
    let (data, _) = try await self.transport.answer(to: request)
    #expect(String(decoding: data, as: UTF8.self) == "packed")
    let asked = await server.requests.wait(forCount: 2)[1].headers["accept-encoding"]
    #expect(asked == "br")
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate", "HTTP/1.1 408 Timeout\r\n\r\n", "x",
  ])
  func bytesBehindAnAnswerAreNotTheNextOne(_ late: String) async throws {
    let script = StreamScript("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst")
    let server = try LoopbackServer { _, number in
      number == 1 ? .pieces(script) : .status(200, body: "second")
    }
    defer { script.end() }
    let (first, _) = try await self.transport.answer(from: server.url)
    #expect(String(decoding: first, as: UTF8.self) == "first")
    script.send(late)
    await script.hasBeenSent()
    let (second, _) = try await self.transport.answer(from: server.url)
    #expect(String(decoding: second, as: UTF8.self) == "second")
  }

  @Test func readsShareAConnection() async throws {
    let threads = Recorder<UInt64>()
    let server = try LoopbackServer(keepsConnections: true) { _, _ in
      // A thread of the server is a connection.
      threads.append(UInt64(pthread_self()))
      return .status(200)
    }
    for _ in 0..<5 { _ = try await self.transport.answer(from: server.url) }
    #expect(Set(await threads.wait(forCount: 5)).count == 1)
  }

  /// If one of them is closed, the others probably are, too.
  @Test func ofSeveralKeptConnectionsOneIsTriedBeforeANewOne() async throws {
    let (gate, closed) = (Gate(), Counter())
    let server = try LoopbackServer(keepsConnections: true) { _, number in
      // A thread of the server is a connection. Used ones are closed without an answer.
      let notes = Thread.current.threadDictionary
      if notes["isUsed"] != nil {
        closed.increment()
        return .raw("")
      }
      notes["isUsed"] = true
      return number <= 4 ? .afterGate(gate, .status(200)) : .status(200)
    }
    let transport = self.transport
    let reads = (0..<4).map { _ in Task { try await transport.answer(from: server.url) } }
    await server.requests.wait(forCount: 4)
    gate.open()
    for read in reads { _ = try await read.value }
    _ = try await transport.answer(from: server.url)
    #expect(closed.value == 1)
  }

  @Test func aHeadWithoutAnEndIsGivenUp() async throws {
    let line = "X: \(String(repeating: "x", count: 1_000))\r\n"
    let server = try LoopbackServer { _, _ in
      .raw("HTTP/1.1 200 OK\r\n" + String(repeating: line, count: 1_000) + "\r\n")
    }
    await #expect(throws: URLError.self) { try await self.transport.answer(from: server.url) }
  }

  @Test func aServerThatIsNotThereIsSaidToBeUnreached() async throws {
    let url = try LoopbackServer { _, _ in .status(200) }.url
    let error = await #expect(throws: URLError.self) { try await self.transport.answer(from: url) }
    #expect(error?.code == .cannotConnectToHost)
    let nowhere = try #require(URL(string: "http://host.invalid/"))
    let unknown = await #expect(throws: URLError.self) {
      try await self.transport.answer(from: nowhere)
    }
    #expect(unknown?.code == .cannotFindHost)
    let other = try #require(URL(string: "file:///etc/passwd"))
    await #expect(throws: HTTPRequestError.badURL("file:///etc/passwd")) {
      try await self.transport.answer(from: other)
    }
  }

  @Test func aSilentServerIsGivenUpAfterTheTimeOfTheRequest() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    var request = self.post(server.url)
    request.timeoutInterval = 0.3
    let error = await #expect(throws: URLError.self) {
      try await self.transport.answer(to: request)
    }
    #expect(error?.code == .timedOut)
  }

  @Test(arguments: [TimeInterval.infinity, .nan, 1e300, 0, -1])
  func aTimeThatIsNoneAsksForNoLimitOfItsOwn(_ seconds: TimeInterval) async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    var request = self.post(server.url)
    request.timeoutInterval = seconds
    _ = try await self.transport.answer(to: request)
  }

  @Test func theBodyIsNotSentWithTheReadOfWhatCameOfIt() async throws {
    let server = try LoopbackServer { request, _ in
      request.method == "POST" ? .status(303, headers: ["Location": "/there"]) : .status(200)
    }
    _ = try await self.transport.answer(to: self.post(server.url, "secret"))
    let received = server.requests.elements
    #expect(received.map(\.method) == ["POST", "GET"])
    #expect(received.map(\.body) == [Array("secret".utf8), []])
  }

  @Test func theBodyOfAReadStaysWithTheOriginThatItWasMeantFor() async throws {
    let other = try LoopbackServer { _, _ in .status(200) }
    let server = try LoopbackServer { [url = other.url] request, _ in
      .status(307, headers: ["Location": url.absoluteString])
    }
    var request = self.post(server.url, "secret")
    request.httpMethod = "GET"
    _ = try await self.transport.answer(to: request)
    #expect(server.requests.elements.map(\.body) == [Array("secret".utf8)])
    #expect(other.requests.elements.map(\.body) == [[]])
  }

  /// The redirects of a request have its time together.
  @Test func theTimeLimitIsThatOfAllRedirects() async throws {
    let server = try LoopbackServer { request, number in
      number == 1 ? .status(302, headers: ["Location": "/there"]) : .silence
    }
    let began = ContinuousClock.now - .seconds(3_599)
    let exchange = HTTPTransport(timeLimit: .seconds(3_600))
    let error = await #expect(throws: URLError.self) {
      _ = try await exchange.send(URLRequest(url: server.url), limit: 10, began: began)
      _ = try await exchange.send(URLRequest(url: server.url), limit: 10, began: began)
    }
    #expect(error?.code == .timedOut)
  }

  @Test func anAnswerThatIsTooLongIsRead() async throws {
    let server = try LoopbackServer(body: String(repeating: "x", count: 1_000_000))
    let (data, _) = try await self.transport.answer(from: server.url, limit: 1_000_000)
    #expect(data.count == 1_000_000)
    await #expect(throws: HTTPBodyError.self) {
      try await self.transport.answer(from: server.url, limit: 999_999)
    }
  }

  /// The rest of an answer that nobody wants ends with its connection.
  @Test func nothingIsReadBehindTheLimit() async throws {
    let script = StreamScript()
    let server = try LoopbackServer { _, _ in .pieces(script) }
    script.send(Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + Array(repeating: 0, count: 1_000))
    await #expect(throws: HTTPBodyError.self) {
      try await self.transport.answer(from: server.url, limit: 100)
    }
    script.end()
  }

  /// Foundation leaves out a value of several lines before this library sees it.
  @Test(arguments: ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\u{0}b", "a\u{1f}", "a\u{7f}"])
  func aHeaderHasOneLine(_ value: String) async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    var request = self.post(server.url)
    request.setValue(value, forHTTPHeaderField: "X-Good")
    if request.value(forHTTPHeaderField: "X-Good") == nil {
      _ = try await self.transport.answer(to: request)
      #expect(server.requests.elements.first?.headers["x-evil"] == nil)
    } else {
      await #expect(throws: HTTPRequestError.badHeaderValue("X-Good")) {
        try await self.transport.answer(to: request)
      }
      #expect(server.requests.count == 0)
    }
  }

  /// A token from a file has a line break at its end, and counted for nothing.
  @Test func aSecretIsSentWithoutWhatSurroundsIt() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    let secret = Locked("Bearer token\n")
    let mutation = HTTPMutation(
      credentials: HTTPCredentials([
        "api": HTTPCredential(for: [server.url]) {
          ["Authorization": secret.withLock { $0 }]
        }
      ]))
    let description = try HTTPRequestDescription(url: server.url, credential: "api")
    let send = {
      try await mutation.mutate(
        with: description, in: QueryContext(), with: QueryContinuation { _, _ in })
    }
    _ = try await send()
    #expect(server.requests.elements.first?.headers["authorization"] == "Bearer token")
    secret.withLock { $0 = "Bearer to\nken" }
    await #expect(throws: HTTPCredentialError.badHeader(name: "api", header: "Authorization")) {
      try await send()
    }
    #expect(server.requests.count == 1)
  }

  @Test func headersArriveAsTheyAreEmptyOnesToo() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    var request = self.post(server.url, nil)
    request.setValue("", forHTTPHeaderField: "X-Empty")
    request.setValue(" \t", forHTTPHeaderField: "X-Blank")
    request.setValue("me/1", forHTTPHeaderField: "User-Agent")
    request.setValue("caf\u{e9}", forHTTPHeaderField: "X-Text")
    _ = try await self.transport.answer(to: request)
    let received = try #require(await server.requests.wait(forCount: 1).first)
    #expect(received.headers["x-empty"] == "")
    #expect(received.headers["x-blank"] == "")
    #expect(received.headers["user-agent"] == "me/1")
    #expect(received.headers["x-text"] == "caf\u{e9}")
    #expect(received.headers["content-length"] == "0")
    #expect(received.headers["expect"] == nil)
  }

  @Test func aSecretStaysWithItsOrigin() async throws {
    let other = try LoopbackServer { _, _ in .status(200, body: "there") }
    let target = other.url.absoluteString
    let server = try LoopbackServer { _, _ in .status(302, headers: ["Location": target]) }
    var request = URLRequest(url: server.url)
    for name in ["Authorization", "Cookie", "X-API-Key"] {
      request.setValue("secret", forHTTPHeaderField: name)
    }
    request.setValue("text/plain", forHTTPHeaderField: "Accept")
    let (data, response) = try await self.transport.answer(to: request)
    #expect(String(decoding: data, as: UTF8.self) == "there")
    #expect(response.url == other.url)
    let received = try #require(await other.requests.wait(forCount: 1).first)
    #expect(!received.headers.values.contains("secret"))
    #expect(received.headers["accept"] == "text/plain")
    await #expect(throws: HTTPForeignAnswerError.otherOrigin(other.root)) {
      try await self.transport.answer(to: self.post(server.url))
    }
  }

  @Test func aRequestOfACancelledTaskFailsAsCancelled() async throws {
    let server = try LoopbackServer { _, _ in .silence }
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await self.transport.answer(from: server.url)
    }
    task.cancel()
    let error = await #expect(throws: URLError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(server.requests.count == 0)
  }

  @Test func aCancellationBesideTheAnswerEndsEitherWay() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    for round in 0..<300 {
      let arrived = server.requests.count
      let task = Task { try await self.transport.answer(from: server.url) }
      if round % 2 == 0 { await server.requests.wait(forCount: arrived + 1) }
      task.cancel()
      _ = try? await task.value
    }
  }

  /// Eight at once, whatever becomes of those before; what is given up while it waits is not sent.
  @Test func manyRequestsToOneOriginTakeTurns() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _, number in
      number <= 8 ? .afterGate(gate, .status(200, body: "\(number)")) : .status(200)
    }
    let transport = self.transport
    let first = (0..<8).map { _ in Task { try await transport.answer(from: server.url) } }
    await server.requests.wait(forCount: 8)
    let waiting = (0..<100).map { _ in Task { try await transport.answer(from: server.url) } }
    // Others do not wait for them.
    _ = try await transport.answer(to: self.post(server.url))
    #expect(server.requests.count == 9)
    for task in waiting.prefix(50) { task.cancel() }
    for task in waiting.prefix(50) { _ = try? await task.value }
    #expect(server.requests.count == 9)
    first[0].cancel()
    for task in waiting.dropFirst(50) { _ = try await task.value }
    #expect(server.requests.count == 59)
    gate.open()
    for task in first.dropFirst() { _ = try await task.value }
  }

  @Test func aFileThatBecomesShorterIsNoAnswer() async throws {
    let (folder, gate) = (try ScratchFolder(), Gate())
    let file = try folder.file("photo", Data(count: 20_000_000))
    let server = try LoopbackServer(
      bodyStop: LoopbackServer.BodyStop(after: 1_000_000, gate: gate)
    ) { _, _ in .status(200) }
    let started = Gate()
    let task = Task {
      try await self.transport.send(self.post(server.url, nil), file: file, limit: 10) { sent in
        if sent > 500_000 { started.open() }
      }
    }
    await started.passIgnoringCancellation()
    #expect(truncate(file.path, 6_000_000) == 0)
    gate.open()
    let error = await #expect(throws: URLError.self) { try await task.value }
    #expect(error?.code == .cannotOpenFile)
  }

  @Test func aFileThatIsNoneIsNotSent() async throws {
    let (folder, server) = (try ScratchFolder(), try LoopbackServer { _, _ in .status(200) })
    for (file, code) in [
      (folder.url.appending(path: "none"), URLError.Code.fileDoesNotExist),
      (folder.url, .cannotOpenFile), (URL(filePath: "/dev/zero"), .cannotOpenFile),
    ] {
      let error = await #expect(throws: URLError.self) {
        try await self.transport.send(self.post(server.url, nil), file: file, limit: 10)
      }
      #expect(error?.code == code)
    }
    #expect(server.requests.count == 0)
  }
}
