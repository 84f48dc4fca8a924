import Foundation
import Query
import QueryHTTP
import TestSupport
import Testing
import ToolSupport

@testable import QueryReplayCommand

/// The file of credentials, and how requests get them from it.
struct CredentialFileTests {
  private let store: ReplayStore

  init() throws { self.store = try ReplayStore() }

  private func write(
    _ text: String, mode: Int = 0o600, _ name: String = "c.json"
  ) throws -> String {
    let url = self.store.folder.appending(path: name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    return url.path
  }

  private func error(_ path: String) -> ToolError? {
    do {
      _ = try CredentialFile(path: path).read()
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [0o640, 0o604, 0o620, 0o610, 0o666])
  func aFileThatOthersMayOpenIsNotUsed(_ mode: Int) throws {
    let path = try self.write("{}", mode: mode)
    #expect(
      self.error(path)
        == ToolError(
          .inputOutput,
          "the file of credentials \(path) can be read by others: chmod 600 \(path)"))
  }

  @Test(arguments: [
    "", "[]", "secret", #"{"api": {}}"#, #"{"api": {"origins": [], "headers": {"a": 1}}}"#,
    #"{"api": {"origins": ["example.org"], "headers": {"Authorization": "secret"}}}"#,
  ])
  func aFileThatIsNotUnderstoodIsBadDataAndNotShown(_ text: String) throws {
    let error = self.error(try self.write(text))
    #expect(error?.code == .badData)
    #expect(error?.message.contains("secret") == false)
  }

  @Test func aFolderOrAMissingFileIsNoFileOfCredentials() throws {
    #expect(self.error(self.store.path)?.code == .inputOutput)
    #expect(self.error("\(self.store.path)/none")?.code == .inputOutput)
    let usual = try #require(
      CredentialFile(applicationID: "a.b", environment: ["XDG_CONFIG_HOME": self.store.path]))
    #expect(try usual.read()["api"] == nil, "the usual one may be missing")
    #expect(
      CredentialFile(applicationID: "a.b", environment: ["HOME": "/home/x"])?.path
        == "/home/x/.config/mutation-replay/a.b.json")
    #expect(CredentialFile(applicationID: "a.b", environment: ["HOME": "x"]) == nil)
  }

  @Test func requestsGetTheHeadersWhereTheirOriginMayHaveThem() async throws {
    let server = try LoopbackServer { request, _ in
      .status(request.headers["authorization"] == "Bearer hushhush" ? 200 : 401)
    }
    let path = try self.write(
      """
      {"api": {"origins": ["\(server.url.absoluteString)"],
        "headers": {"Authorization": "Bearer hushhush"}},
       "far": {"origins": ["https://example.org"], "headers": {"Authorization": "no"}}}
      """)
    try await self.store.add(to: server.url, credential: "api")
    try await self.store.add(to: server.url, credential: "far")
    let run = try await ToolRun("run", "--once", "--credentials", path, on: self.store)
    #expect(run.end == .code(75), "one waits for credentials")
    #expect(server.requests.count == 1)
    let entries = try await self.store.entries()
    #expect(entries.map(\.waitReason) == [.authentication])
    let said = (run.lines + run.errors).joined()
    #expect(!said.contains("hushhush"))
  }

  @Test func aFileThatCannotBeUsedSendsNothing() async throws {
    let server = try LoopbackServer { _, _ in .status(200) }
    try await self.store.add(to: server.url)
    let path = try self.write("{}", mode: 0o644)
    let run = try await ToolRun("run", "--once", "-c", path, on: self.store)
    #expect(run.end == .code(74))
    #expect(run.errors.count == 1)
    #expect(server.requests.count == 0)
  }
}
