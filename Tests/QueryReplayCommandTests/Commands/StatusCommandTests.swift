import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

struct StatusCommandTests {
  private let wall = Date(timeIntervalSince1970: 1_700_000_000)

  /// One of each: due, behind another one, dead, and another application's.
  private func store() async throws -> ReplayStore {
    let store = try ReplayStore(wall: self.wall)
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    try await store.add(2, to: url, lane: "inbox")
    let dead = try await store.add(to: url)
    try await store.kill(dead[0])
    try await store.addOther("create\u{1b}[31m-note", lane: "notes")
    return store
  }

  @Test func theObjectHasCountsLanesAndWhatIsLeftToOthers() async throws {
    let store = try await self.store()
    let run = try await ToolRun("status", "--json", on: store)
    #expect(run.end == .code(0))
    let at = "2023-11-14T22:13:20.000000Z"
    let other = #"create\u001b[31m-note"#
    func lane(_ rest: String) -> String { #"{"canSend":"# + rest + "}" }
    let lanes = [
      #"true,"count":1,"host":"127.0.0.1","lane":"inbox","oldestAt":"\#(at)","state":"pending""#,
      #"true,"count":1,"host":"127.0.0.1","lane":"inbox","oldestAt":"\#(at)","#
        + #""reason":"predecessor","state":"pending""#,
      #"true,"count":1,"host":"127.0.0.1","oldestAt":"\#(at)","reason":"rejected","state":"dead""#,
      #"false,"count":1,"host":"name:\#(other)","lane":"notes","oldestAt":"\#(at)","#
        + #""state":"pending""#,
    ]
    #expect(
      run.lines == [
        #"{"dead":1,"isPaused":false,"lanes":[\#(lanes.map(lane).joined(separator: ","))],"#
          + #""leased":0,"network":"connected","oldestAt":"\#(at)","#
          + #""others":[{"application":"\#(store.path)","count":1,"name":"\#(other)","#
          + #""version":1}],"partition":"","pending":3,"store":"\#(store.path)"}"#
      ])
  }

  @Test func theTableIsForPeopleAndNothingInItReachesTheTerminal() async throws {
    let store = try await self.store()
    let run = try await ToolRun("status", "--utc", on: store)
    #expect(run.end == .code(0))
    #expect(run.lines.first == "3 waiting, 0 running, 1 dead in the outbox of \(store.path)")
    #expect(run.lines[1].hasPrefix("The oldest is of 2023-11-14T22:13:20Z, "))
    #expect(run.lines[3].hasPrefix("HOST"))
    #expect(
      run.lines.last
        == "1 mutation “create\\x1b[31m-note” (version 1) left to the application \(store.path)")
    #expect(run.lines.allSatisfy { !$0.contains("\u{1b}") && !$0.contains("\t") })
  }

  /// A page that shows `pause` without an account would make its reader believe that nothing is sent any more.
  @Test func withoutAnAccountOthersAreTold() async throws {
    let store = try ReplayStore()
    let storage = try SQLiteQueryStorage(directory: store.folder, partition: "lea")
    let mutation = NewMutation(name: "note", instance: "[]", coder: "json", arguments: Data())
    var other = mutation
    other.id = UUID()
    _ = try await storage.outbox.enqueue([mutation, other])
    try await storage.close()
    let text = "the account without a name has no mutations; “lea” (2) has: name it by --partition"
    for command in ["status", "list"] {
      let run = try await ToolRun(command, on: store)
      #expect(run.end == .code(0))
      #expect(run.errors == ["mutation-replay: \(text)"])
    }
    for command in ["pause", "resume"] {
      let run = try await ToolRun(command, on: store)
      #expect(run.end == .code(64) && run.lines.isEmpty)
      #expect(run.errors.first?.contains(text) == true)
    }
    for words in [["pause", "--partition", ""], ["status", "--partition", "lea"]] {
      let run = try await ToolRun(words + ["--store", store.path])
      #expect(run.end == .code(0) && run.errors.isEmpty)
    }
  }

  @Test func severalOtherAccountsAreToldTogether() async throws {
    let store = try ReplayStore()
    for account in ["anna", "lea"] {
      let storage = try SQLiteQueryStorage(directory: store.folder, partition: account)
      let mutation = NewMutation(name: "note", instance: "[]", coder: "json", arguments: Data())
      _ = try await storage.outbox.enqueue(mutation, claiming: false)
      try await storage.close()
    }
    let run = try await ToolRun("status", on: store)
    let text =
      "the account without a name has no mutations; “anna” (1), “lea” (1) have: name one by --partition"
    #expect(run.errors == ["mutation-replay: \(text)"])
  }

  @Test func aPauseIsSeenAndEnds() async throws {
    let store = try await self.store()
    #expect(try await ToolRun("pause", on: store).end == .code(0))
    let paused = try await ToolRun("status", "--json", on: store)
    #expect(try paused.objects().first?["isPaused"] as? Bool == true)
    let text = try await ToolRun("status", on: store)
    #expect(text.lines.contains("It is paused: nothing is sent until “resume”."))
    let resume = try await ToolRun("resume", "--json", on: store)
    #expect(resume.lines == [#"{"isPaused":false}"#])
    let resumed = try await ToolRun("status", "--json", on: store)
    #expect(try resumed.objects().first?["isPaused"] as? Bool == false)
  }

  @Test(arguments: [
    ("--lane", "inbox", "The lane “inbox”", 2), ("--name", "http/1", "The name “http/1”", 2),
    ("--host", "127.0.0.1", "The host 127.0.0.1", 2),
  ])
  func aPauseOfAPartIsSeenAndEnds(
    _ option: String, _ value: String, _ words: String, _ count: Int
  ) async throws {
    let store = try await self.store()
    let pause = try await ToolRun("pause", option, value, on: store)
    #expect(pause.lines == ["\(words) is paused, until it is resumed."])
    let listed = try await ToolRun("list", "--json", on: store)
    let reasons = try listed.objects().map { $0["waitReason"] as? String }
    #expect(reasons.filter { $0 == "paused" }.count == count)
    let text = try await ToolRun("status", on: store)
    #expect(text.lines.contains { $0.hasPrefix("\(words) is paused, ") })
    let status = try #require(try await ToolRun("status", "--json", on: store).objects().first)
    #expect(status["isPaused"] as? Bool == false)
    let pauses = try #require(status["pauses"] as? [[String: Any]])
    #expect(pauses.map { "--\($0["part"] ?? "") \($0["value"] ?? "")" } == ["\(option) \(value)"])
    let id = try #require(try listed.objects().first?["id"] as? String)
    let why = try await ToolRun("why", id, on: store)
    #expect(why.lines.contains { $0.contains("\(words) is paused since ") })
    let resume = try await ToolRun("resume", option, value, "--json", on: store)
    #expect(
      resume.lines == [#"{"\#(option.dropFirst(2))":"\#(value)","isPaused":false}"#]
        || resume.lines == [#"{"isPaused":false,"\#(option.dropFirst(2))":"\#(value)"}"#])
    let resumed = try await ToolRun("list", "--json", on: store)
    #expect(try resumed.objects().allSatisfy { $0["waitReason"] as? String != "paused" })
  }

  @Test func onePartIsPausedAtATime() async throws {
    let run = try await ToolRun("pause", "--lane", "a", "--host", "b", on: try await self.store())
    #expect(run.end == .code(64))
  }

  @Test func theDeadAreListedWithTheirReasons() async throws {
    let store = try await self.store()
    let table = try await ToolRun("dead", on: store)
    #expect(table.lines.count == 2)
    #expect(table.lines[1].contains("rejected"))
    #expect(table.lines[1].hasSuffix("the status is 400\\x1b[31m"))
    let json = try await ToolRun("dead", "--json", on: store)
    #expect(try json.objects().map { $0["deadReason"] as? String } == ["rejected"])
    let empty = try ReplayStore()
    try await empty.addOther()
    #expect(try await ToolRun("dead", on: empty).lines == ["Nothing is dead."])
  }
}
