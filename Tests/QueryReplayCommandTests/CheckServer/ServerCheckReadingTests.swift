import Foundation
import Query
import TestSupport
import Testing
import ToolSupport

@testable import QueryReplayCommand

/// What `check-server` reads to find out whether a server knows what has not changed.
struct ServerCheckReadingTests {
  /// Its notes have an ETag or its count has one; what has none is never answered 304.
  private static func server(tagged path: String) throws -> LoopbackServer {
    try LoopbackServer { request, _ in
      if request.method == "POST" { return .status(201, body: #"{"id": 7}"#) }
      guard request.line.contains(path) else { return .status(200, body: "1") }
      return request.headers["if-none-match"] == "a"
        ? .status(304) : .status(200, headers: ["ETag": "a"], body: "1")
    }
  }

  private static func check(of server: LoopbackServer, _ words: [String]) throws -> ServerCheck {
    let line = try CommandLineParser.parse(
      ["check-server", server.url.absoluteString, "--example"] + words, for: ReplayTool.stock.tool)
    guard case .command(let command) = line else { throw TestError() }
    return try ServerCheck(CheckTarget(command), keyFile: nil, olderThan: nil)
  }

  private static func validators(of server: LoopbackServer, _ words: [String]) async throws
    -> CheckFinding
  {
    try await Self.check(of: server, words).validators()
  }

  @Test func noCredentialIsSentInTheClearToWhatIsCalledHTTPS() async throws {
    let server = try Self.server(tagged: "/count")
    let url = server.root.replacing("http://", with: "https://") + "/count"
    let check = try Self.check(
      of: server, ["--count-url", url, "--header", "Authorization: Bearer secret"])
    let error = await #expect(throws: ToolError.self) { try await check.count() }
    #expect("\(try #require(error))".contains("\(url) cannot be reached"))
    #expect(server.requests.elements.allSatisfy { $0.headers["authorization"] == nil })
  }

  /// A server that says again and again that a write is under way costs more than two writes a round.
  @Test func whatCannotBeAskedSinceNoWriteIsLeftIsNoFailure() async throws {
    let keys = Locked([String: Int]())
    let server = try LoopbackServer { request, _ in
      guard request.method == "POST" else { return .status(200, body: "1") }
      let key = request.headers["idempotency-key"] ?? ""
      let (isFirstKey, times) = keys.withLock {
        $0[key, default: 0] += 1
        return ($0.count == 1, $0[key] ?? 0)
      }
      return isFirstKey || times == 1 ? .status(201, body: #"{"id": 7}"#) : .status(409)
    }
    let check = try Self.check(
      of: server,
      ["--count-url", "\(server.root)/count", "--kill-command", "true", "--start-command", "true"])
    for _ in 1...36 { _ = try check.write("used", Data()) }
    #expect(try await check.survives() == .noWriteLeft)
    #expect(check.writesLeft == 0)
    #expect(throws: ServerCheck.OutOfWrites.self) { try check.write("key", Data()) }
  }

  @Test func whatAWriteMadeIsReadIfItIsKnownWhere() async throws {
    for (path, verdict) in [("/made/7", CheckFinding.Verdict.holds), ("/count", .hint)] {
      let server = try Self.server(tagged: path)
      let finding = try await Self.validators(
        of: server,
        ["--count-url", "\(server.root)/count", "--read-url", "\(server.root)/made/{id}"])
      #expect(finding.verdict == verdict)
    }
  }

  @Test func nothingIsWrittenToReadTheCount() async throws {
    let server = try Self.server(tagged: "/count")
    let finding = try await Self.validators(of: server, ["--count-url", "\(server.root)/count"])
    #expect(finding == .holds)
    #expect(server.requests.elements.map(\.method) == ["GET", "GET"])
  }
}
