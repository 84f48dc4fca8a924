import Foundation
import Query
import QueryReplay
import TestSupport
import Testing

/// The tools: a script can join what `cache-inspect` and `mutation-replay` print of one mutation, since
/// both print one object.
@Suite struct BothToolsTests {
  private static let inspectorsOwn: Set = [
    "coalesce", "lastFailure", "failedAt", "leaseOwner", "isCancelRequested", "awaitedAlias",
    "bodyFile", "isSound",
  ]

  private static func inspected(_ store: ReplayStore) async throws -> [NSDictionary] {
    let child = try ChildProcess(
      ChildProcess.product("cache-inspect"), ["outbox", "--json", "--store", store.path])
    var lines = [NSDictionary]()
    for await line in child.lines {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
      lines.append(object.filter { !Self.inspectorsOwn.contains($0.key) } as NSDictionary)
    }
    #expect(await child.end() == .code(0))
    return lines
  }

  @Test func theyPrintOneMutationAsOneObject() async throws {
    let store = try ReplayStore()
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    try await store.add(2, to: url, lane: "inbox")
    let objects = try await ToolRun("run", "--dry-run", "--json", on: store).objects()
    #expect(objects.count == 2)
    #expect(objects.allSatisfy { $0["canSend"] as? Bool == true })
    let sent = objects.map { $0.filter { $0.key != "canSend" } as NSDictionary }
    let inspected = try await Self.inspected(store)
    // The second one waits for the first, for those who know of no handler too.
    #expect(sent == inspected)
  }
}
