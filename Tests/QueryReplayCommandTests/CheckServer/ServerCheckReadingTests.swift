import Foundation
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

  private static func validators(of server: LoopbackServer, _ words: [String]) async throws
    -> CheckFinding
  {
    let line = try CommandLineParser.parse(
      ["check-server", server.url.absoluteString, "--example"] + words, for: ReplayTool.stock.tool)
    guard case .command(let command) = line else { throw TestError() }
    return try await ServerCheck(CheckTarget(command), keyFile: nil, olderThan: nil).validators()
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
