import Foundation
import Query
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
