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

  private static func check(
    of server: LoopbackServer, with body: [String] = ["--example"], _ words: [String] = []
  ) throws -> ServerCheck {
    let line = try CommandLineParser.parse(
      ["check-server", server.url.absoluteString] + body + words, for: ReplayTool.stock.tool)
    guard case .command(let command) = line else { throw TestError() }
    return try ServerCheck(CheckTarget(command), keyFile: nil, olderThan: nil)
  }

  private static func validators(of server: LoopbackServer, _ words: [String]) async throws
    -> CheckFinding
  {
    try await Self.check(of: server, words).validators()
  }

  @Test func whatIsCalledHTTPSIsAskedByTLS() async throws {
    let server = try Self.server(tagged: "/count")
    let url = "https://127.0.0.1:1/count"
    let check = try Self.check(of: server, ["--count-url", url])
    #expect(check.transport(to: try #require(URL(string: url))) is TLSTransport)
    #expect(check.transport(to: server.url) is SocketTransport)
    let error = await #expect(throws: ToolError.self) { try await check.count() }
    #expect("\(try #require(error))".contains("\(url) cannot be reached"))
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

  /// What is read of a server whose list has some notes, and that says where a write is.
  @Test(arguments: [
    ("[{\"id\": 17}]", CheckFinding.Verdict.warns), ("[{\"id\": 7}]", .holds), ("note 7", .holds),
  ])
  func aListHasAWriteIfItNamesIt(_ list: String, _ verdict: CheckFinding.Verdict) async throws {
    let server = try LoopbackServer { request, _ in
      request.method == "POST"
        ? .status(201, headers: ["Location": "/notes/7"], body: #"{"id": 7}"#)
        : .status(200, body: list)
    }
    let check = try Self.check(of: server, ["--read-url", "\(server.root)/list"])
    #expect(try await check.readsOwnWrites().verdict == verdict)
  }

  /// Its answers are all alike; it carries out a write of each account, or of one.
  @Test(arguments: [(true, CheckFinding.Verdict.holds), (false, .fails)])
  func whereAnswersAreAlikeTheCountTellsWhoseKeyItIs(
    _ isScoped: Bool, _ verdict: CheckFinding.Verdict
  ) async throws {
    let keys = Locked(Set<String>())
    let server = try LoopbackServer { request, _ in
      guard request.method == "POST" else {
        return .status(200, body: "\(keys.withLock { $0.count })")
      }
      let account = isScoped ? request.headers["authorization"] ?? "" : ""
      let key = request.headers["idempotency-key"] ?? ""
      keys.withLock { _ = $0.insert("\(account) \(key)") }
      return .status(200, body: #"{"ok": true}"#)
    }
    let accounts = ["-H", "Authorization: ada", "--other-header", "Authorization: eve"]
    let counting = try Self.check(of: server, accounts + ["--count-url", "\(server.root)/count"])
    #expect(try await counting.scope().verdict == verdict)
    #expect(try await Self.check(of: server, accounts).scope().verdict == .unasked)
  }

  /// It refuses each body that it does not know, whatever the key.
  @Test func aBodyThatIsRefusedAnywayShowsNothingOfAKey() async throws {
    let server = try LoopbackServer { request, _ in
      request.body == Array(#"{"kind":"a"}"#.utf8)
        ? .status(201, body: #"{"id": 7}"#) : .status(400)
    }
    let folder = try ScratchFolder()
    let body = try folder.file("body", Data(#"{"kind":"a"}"#.utf8))
    let check = try Self.check(of: server, with: ["--body", body.path])
    withExtendedLifetime(folder) {}
    #expect(try await check.fingerprint().verdict == .unasked)
  }
}
