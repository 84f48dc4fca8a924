import Foundation
import Query
import TestSupport
import Testing

struct ListCommandTests {
  @Test func whatWaitsIsListedWithItsWholeIdentifierAndItsReason() async throws {
    let store = try ReplayStore()
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    let ids = try await store.add(2, to: url, lane: "inbox")
    let other = try await store.addOther("create\u{1b}[31m-note")
    let dead = try await store.add(to: url)
    try await store.kill(dead[0])
    let run = try await ToolRun("list", on: store)
    #expect(run.end == .code(0))
    #expect(run.lines.count == 4)
    for (line, id) in zip(run.lines.dropFirst(), ids + [other]) {
      #expect(line.hasPrefix(id.uuidString.lowercased()))
    }
    #expect(run.lines[1].contains("  due  "))
    #expect(run.lines[2].contains("  predecessor  "))
    #expect(run.lines[3].contains("create\\x1b[31m-note"))
    #expect(run.lines[3].contains("  other application  "))
    let lane = try await ToolRun("list", "--lane", "inbox", "--json", on: store)
    #expect(try lane.objects().map { $0["lane"] as? String } == ["inbox", "inbox"])
    let nothing = try await ToolRun("list", "--lane", "outbox", on: store)
    #expect(nothing.lines == ["Nothing waits."])
  }
}
