import Foundation
import TestSupport
import Testing
import ToolSupport

@testable import QueryReplayCommand

/// `check-server` beside real servers: each that is wrong in one way is found, by the rule that says so.
@Suite(.enabled(if: CheckedServer.python != nil, "there is no python3"))
struct CheckServerCommandTests {
  private static let rounds = ProcessInfo.processInfo.environment["FULL"] == nil ? 5 : 100

  @Test func theRightServerPassesEveryTime() async throws {
    let server = try await CheckedServer("right")
    for round in 1...Self.rounds {
      let check = try await server.check(server.everything)
      #expect(check.rules("holds").count == 9, "\(round): \(check.says) \(check.run.errors)")
      #expect(check.rules("unasked") == ["keeps"])
      #expect(check.run.end == .code(0))
      #expect(check.writes <= 40)
    }
  }

  @Test(.enabled(if: CheckedServer.openSSL != nil, "there is no openssl"))
  func aServerBehindTLSIsCheckedByTheSameRulesIfItIsWhoItSays() async throws {
    let server = try await CheckedServer("right", isEncrypted: true)
    let check = try await server.check(server.everything)
    #expect(check.rules("holds").count == 9, "\(check.says) \(check.run.errors)")
    #expect(check.run.end == .code(0))
    let stranger = try await server.check(server.everything, isTrusted: false)
    #expect(stranger.verdicts.isEmpty && stranger.run.end != .code(0))
    #expect(stranger.run.errors.contains { $0.contains("certificate") }, "\(stranger.run.errors)")
  }

  @Test(arguments: [
    ("forgetful", ["survives"]), ("second-transaction", ["survives"]), ("empty", ["repeats"]),
    ("locked", ["concurrent"]), ("leaky", ["scope"]),
    ("ignorant", ["repeats", "once", "lost-answer", "concurrent", "survives"]),
  ])
  func aServerThatIsWrongInOneWayIsFoundByItsRule(_ way: String, _ rules: [String]) async throws {
    let server = try await CheckedServer(way)
    let check = try await server.check(server.everything)
    #expect(check.rules("fails") == Set(rules), "\(check.says)")
    #expect(check.rules("warns") == (way == "ignorant" ? ["fingerprint"] : []))
    #expect(check.run.end == .code(1))
    #expect(check.writes <= 40)
    // The server's author is told what to do.
    for rule in rules { #expect(check.says[rule]?.hasSuffix(".") == true) }
  }

  @Test func aServerIsKilledTwentyTimesIfNothingElseIsAsked() async throws {
    let server = try await CheckedServer("right")
    let check = try await server.check(server.everything + ["--only", "survives"])
    #expect(check.rules("holds") == ["survives"])
    // The first write and its repetition after a kill, and two for each of the other nineteen.
    #expect(check.writes == 2 + 2 * 19)
  }

  @Test func theSentenceSaysWhatIsWrong() async throws {
    let sentences = [
      "forgetful": "did not know a key that it had answered",
      "second-transaction": "was carried out twice: commit the key in the same transaction",
    ]
    for (way, sentence) in sentences {
      let server = try await CheckedServer(way)
      let check = try await server.check(server.everything + ["--only", "survives"])
      #expect(check.says["survives"]?.contains(sentence) == true, "\(check.says)")
    }
  }

  @Test func aWriteUnderWayWithoutATimeToAskAgainIsAWarning() async throws {
    let server = try await CheckedServer("unhinted")
    let check = try await server.check(
      ["--count-url", "\(server.root)/count", "--count-path", "/notes/total"])
    #expect(check.rules("fails") == [])
    #expect(check.rules("warns") == ["concurrent"])
    #expect(check.says["concurrent"]?.contains("Retry-After: 1") == true)
    #expect(check.rules("unasked") == ["scope", "keeps", "survives"])
    #expect(check.run.end == .code(0))
  }

  @Test func whatNeedsACountIsNotAskedWithoutOne() async throws {
    let server = try await CheckedServer("ignorant")
    let check = try await server.check([])
    #expect(check.rules("fails") == ["repeats", "once", "concurrent"])
    #expect(check.says["once"]?.contains("made two things, 1 and 2") == true)
    #expect(
      check.rules("unasked")
        == ["lost-answer", "scope", "reads-own-writes", "validators", "keeps", "survives"])
  }

  @Test func aServerThatWantsACredentialIsAskedNothingMore() async throws {
    let server = try await CheckedServer("mute")
    let check = try await server.check([])
    #expect(check.run.end == .code(1))
    #expect(check.rules("fails") == ["repeats"])
    #expect(
      check.says["repeats"]?.contains("refused with 401: give its credential by --header") == true)
    #expect(check.writes == 1)
  }

  private func demo() async throws -> CheckedServer {
    let folder = try ScratchFolder()
    var script = URL(filePath: #filePath)
    for _ in 0..<4 { script.deleteLastPathComponent() }
    script.append(path: "Tools/field-notes/server/field_notes_server.py")
    let python = try #require(CheckedServer.python)
    let data = folder.url.appending(path: "notes.db").path
    return try await CheckedServer(folder, python, script.path) { port in
      [
        "--port", "\(port)", "--data", data, "--iso-codes", "/nonexistent", "--pid",
        "\(folder.path)/pid",
      ]
    }
  }

  @Test func theDemosServerPasses() async throws {
    let server = try await self.demo()
    let check = try await server.check(
      server.restarting + [
        "--count-url", "\(server.root)/folders/Checks/notes", "--count-path", "/notes",
        "--read-url", "\(server.root)/notes/{id}", "--other-header", "Authorization: eve",
      ])
    #expect(check.rules("holds").count == 9, "\(check.says)")
    #expect(check.run.end == .code(0))
  }

  @Test func theDemosServerNamesTheWritesOfAnAccountThatAnAnswerIncludes() async throws {
    let server = try await self.demo()
    let url = try #require(URL(string: "\(server.root)/notes"))
    func send(_ method: String, _ url: URL, _ headers: CheckHeader...) async -> CheckAnswer? {
      let body = Data(#"{"folder": "Checks", "title": "a", "text": "b"}"#.utf8)
      let request = CheckRequest(method: method, url: url, headers: headers, body: body)
      return await SocketTransport().outcomes(of: [request])[0].answer
    }
    let ada = CheckHeader("Authorization", "ada")
    for key in ["first", "second"] {
      let answer = await send("POST", url, ada, CheckHeader("Idempotency-Key", key))
      #expect(answer?.status == 201)
    }
    for path in ["folders", "folders/Checks/notes", "notes/note-1"] {
      let read = try #require(URL(string: "\(server.root)/\(path)"))
      let keys = await send("GET", read, ada)?.headers["idempotency-applied"] ?? ""
      #expect(Set(keys.components(separatedBy: ", ")) == ["first", "second"])
      #expect(await send("GET", read)?.headers["idempotency-applied"] == nil)
    }
  }

  @Test func aKeyOfAnEarlierRunIsAskedFor() async throws {
    let folder = try ScratchFolder()
    let file = folder.url.appending(path: "keys")
    let keeps = ["--only", "keeps", "--keys", file.path]
    let server = try await CheckedServer("right")
    #expect(try await server.check(keeps).rules("unasked") == ["keeps"])
    let tooYoung = try await server.check(keeps + ["--older-than", "7d"])
    #expect(tooYoung.says["keeps"]?.contains("no key of this server that is so old") == true)
    let old = try await server.check(keeps + ["--older-than", "0s"])
    #expect(old.rules("holds") == ["keeps"])
    #expect(old.says["keeps"] == "Ask again when the key is 30 days old.")
    // A server that has forgotten it.
    let database = server.folder.url.appending(path: "notes.db").path
    let python = try #require(CheckedServer.python)
    let forget =
      "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); "
      + "d.execute('DELETE FROM idempotency'); d.commit()"
    try ChildProcess.run(python, ["-c", forget, database])
    let forgotten = try await server.check(keeps + ["--older-than", "0s"])
    #expect(forgotten.rules("warns") == ["keeps"])
    #expect(forgotten.run.end == .code(0))
    let mode =
      try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func peopleReadALineForEachRuleAndTheSentenceBelow() async throws {
    let server = try await CheckedServer("leaky")
    let run = try await ToolRun(
      [
        "check-server", "\(server.root)/notes", "--example", "-y", "--only", "scope", "--only",
        "repeats", "--header", "Authorization: ada", "--other-header", "Authorization: eve",
      ])
    #expect(run.lines.count == 4)
    #expect(run.lines[0] == "holds   repeats           the same write again is answered as before")
    #expect(run.lines[1] == "FAILS   scope             an account's answers are its own")
    #expect(run.lines[2].hasPrefix("        The key of one account was answered to another one"))
    #expect(run.lines[3] == "3 writes were sent.")
  }
}
