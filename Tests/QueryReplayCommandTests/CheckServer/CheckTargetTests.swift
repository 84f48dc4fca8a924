import Foundation
import TestSupport
import Testing
import ToolSupport

@testable import QueryReplayCommand

/// What a command line of `check-server` says, and what it must not.
struct CheckTargetTests {
  private func target(_ words: String...) throws -> CheckTarget {
    let line = try CommandLineParser.parse(["check-server"] + words, for: ReplayTool.stock.tool)
    guard case .command(let command) = line else { throw TestError() }
    return try CheckTarget(command)
  }

  @Test(arguments: [
    ["http://127.0.0.1:1/notes"], ["notes", "--example"], ["ftp://127.0.0.1/", "--example"],
    ["http://ada:secret@127.0.0.1/", "--example"],
    ["http://127.0.0.1:1/", "--example", "--body", "x"],
    ["http://127.0.0.1:1/", "--example", "--header", "nothing"],
    ["http://127.0.0.1:1/", "--example", "--header", "Idempotency-Key: 1"],
    ["http://127.0.0.1:1/", "--example", "--kill-command", "true"],
    ["http://127.0.0.1:1/", "--example", "--count-path", "/a"],
    [
      "http://127.0.0.1:1/", "--example", "--count-url", "http://127.0.0.1:1/", "--count-path", "a",
    ],
    ["http://127.0.0.1:1/", "--example", "--older-than", "7d", "--yes"],
    ["http://127.0.0.1:1/", "--example", "--store", "/tmp"],
    // Nobody can be asked, and it is not this machine.
    ["http://127.0.0.1:1/", "--example"], ["http://192.0.2.1/", "--example", "--yes"],
  ])
  func aWrongCommandLineEndsWith64AndOneLine(_ words: [String]) async throws {
    let run = try await ToolRun(["check-server"] + words)
    #expect(run.end == .code(64))
    #expect(run.errors.count == 1)
    #expect(run.lines == [])
  }

  /// The writes are lost; what was there before is not counted among them.
  @Test func aCountThatDoesNotGrowIsTold() async throws {
    let server = try LoopbackServer { _, _ in .status(200, body: "[1, 2, 3]") }
    let target = try self.target(
      server.url.absoluteString, "--example", "--count-url", server.url.absoluteString)
    let check = ServerCheck(target, keyFile: nil, olderThan: nil)
    #expect(try await check.count() == 3)
    #expect(try await check.growth(since: 3, 1) == 0)
    #expect(try await check.growth(since: 1, 1) == 2)
    #expect(try await check.growth(since: nil, 1) == nil)
  }

  @Test func aServerThatIsNotThereEndsWith75() async throws {
    let run = try await ToolRun(["check-server", "http://127.0.0.1:1/", "--example", "--yes"])
    #expect(run.end == .code(75))
    #expect(run.errors.first?.contains("http://127.0.0.1:1/ cannot be reached") == true)
  }

  @Test func aBodyIsAnotherOneForEachWriteIfItSaysSo() throws {
    let folder = try ScratchFolder()
    let numbered = try folder.file("numbered", Data(#"{"a": %n, "b": "%n"}"#.utf8))
    let target = try self.target("http://localhost/", "--body", numbered.path)
    #expect(target.body(3) == Data(#"{"a": 3, "b": "3"}"#.utf8))
    #expect(target.otherBody(3) != target.body(3))
    let same = try folder.file("same", Data(#"{"b": "x", "a": 1}"#.utf8))
    let fixed = try self.target("http://localhost/", "--body", same.path)
    #expect(fixed.body(3) == fixed.body(4))
    let other = try JSONSerialization.jsonObject(with: fixed.otherBody(3)) as? NSDictionary
    #expect(other == ["a": 1, "b": "x 2"])
    #expect(fixed.headers == [CheckHeader("Content-Type", "application/json")])
  }

  /// A body that is no JSON any more is refused by a server that looks at no key.
  @Test(arguments: [
    (#"{"count":1}"#, #"{"count":3}"#),
    (#"{"a":1,"note":{"title":"a"}}"#, #"{"a":3,"note":{"title":"a"}}"#),
    (#"{"b":true,"note":{"title":"a"}}"#, #"{"b":true,"note":{"title":"a 2"}}"#),
    (#"[null,"a"]"#, #"[null,"a 2"]"#), ("[true]", "[[true],2]"), ("text", "text2"),
  ])
  func theOtherBodyOfAWriteIsWhatTheFirstIs(_ body: String, _ other: String) throws {
    let folder = try ScratchFolder()
    let file = try folder.file("body", Data(body.utf8))
    let target = try self.target("http://localhost/", "--body", file.path)
    withExtendedLifetime(folder) {}
    #expect(String(decoding: target.otherBody(1), as: UTF8.self) == other)
  }

  @Test func theOtherAccountHasItsCredentialInPlaceOfTheFirsts() throws {
    let target = try self.target(
      "http://localhost/", "--example", "-H", "Authorization: ada", "-H", "Accept: a/b",
      "--other-header", "authorization: eve")
    #expect(
      target.otherHeaders?.prefix(2) == [
        CheckHeader("Accept", "a/b"), CheckHeader("authorization", "eve"),
      ])
  }

  @Test(arguments: [
    ("http://localhost:1/", true), ("http://127.1.2.3/", true), ("http://[::1]:80/", true),
    ("https://example.org/", false), ("http://127.0.0.1.example.org/", false),
    ("http://10.0.0.1/", false),
  ])
  func thisMachineIsTheLoopbackInterface(_ url: String, _ isLoopback: Bool) throws {
    #expect(try self.target(url, "--example").isLoopback == isLoopback)
  }
}
