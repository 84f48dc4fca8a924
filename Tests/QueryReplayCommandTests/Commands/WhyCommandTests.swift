import Foundation
import Query
import TestSupport
import Testing

struct WhyCommandTests {
  @Test func oneIsToldWhatAMutationWaitsForAsTheInspectorDoes() async throws {
    let store = try ReplayStore()
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    try await store.add(2, to: url, lane: "inbox", ids: [.starting("3f"), .starting("4b")])
    let run = try await ToolRun("why", "4b", on: store)
    #expect(run.end == .code(0))
    let id = "4b000000-0000-0000-0000-000000000000"
    let sentence = try #require(run.lines.first).dropFirst(id.count + 2)
    #expect(run.lines == ["\(id): \(sentence)"] && sentence.hasPrefix("It waits for "))
    let json = try await ToolRun("why", "4b", "--json", on: store)
    #expect(json.lines == [#"{"id":"\#(id)","why":"\#(sentence)"}"#])
    let child = try ChildProcess(
      ChildProcess.product("cache-inspect"), ["outbox", "why", "4b", "--store", store.path])
    var inspected = [String]()
    for await line in child.lines { inspected.append(line) }
    #expect(inspected == run.lines)
    #expect(try await ToolRun("why", "99", on: store).end == .code(64))
    #expect(try await ToolRun("why", on: store).end == .code(64))
  }
}
